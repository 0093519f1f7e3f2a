package pvesim

import (
	"context"
	"fmt"
	"strings"
)

// monitorRoot and monitorModify are QEMU's commands that root alone, and
// those that whoever has Sys.Modify on / may give. info, help and ? are free.
var (
	monitorRoot = wordSet(`backup block_stream change chardev-add chardev-change chardev-remove client_migrate_info
		device_add device_del drive_add drive_backup drive_del drive_mirror dump-guest-memory dumpdtb gdbserver
		hostfwd_add hostfwd_remove logfile mce memsave migrate migrate_incoming migrate_recover nbd_server_add
		nbd_server_remove nbd_server_start nbd_server_stop netdev_add netdev_del nmi o object_add object_del
		pcie_aer_inject_error pmemsave qom-set savevm-end savevm-start screendump snapshot_blkdev watchdog_action
		wavcapture xen-event-inject xen-event-list`)
	monitorModify = wordSet(`gpa2hpa gpa2hva i announce_self backup_cancel balloon block_job_cancel block_job_complete
		block_job_pause block_job_resume block_job_set_speed block_resize block_set_io_throttle boot_set
		calc_dirty_rate cancel_vcpu_dirty_limit chardev-send-break closefd commit cont c cpu delvm eject
		exit_preconfig expire_password getfd gva2gpa loadvm log migrate_cancel migrate_continue migrate_pause
		migrate_set_capability migrate_set_parameter migrate_start_postcopy mouse_button mouse_move mouse_set
		one-insn-per-tb print p qemu-io qom-get qom-list quit q replay_break replay_delete_break replay_seek
		ringbuf_read ringbuf_write savevm sendkey set_link set_password set_vcpu_dirty_limit
		snapshot_blkdev_internal snapshot_delete_blkdev_internal stopcapture stop s sum sync-profile
		system_powerdown system_reset system_wakeup trace-event x x_colo_lost_heartbeat xp`)
)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

func postMonitor(c *call) (any, error) {
	command := c.params.Str("command")
	if !truthy(command) {
		return nil, die("no command specified")
	}
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, die("unexpected command '%s'", command)
	}
	if err := c.mayMonitor(words); err != nil {
		return nil, err
	}
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if vm.Run == nil {
		return fmt.Sprintf("ERROR: VM %d not running\n", vm.ID), nil
	}
	return c.monitor(vm, words), nil
}

// mayMonitor checks whether the user may give the command.
func (c *call) mayMonitor(words []string) error {
	name := words[0]
	if !c.atLeast(9) {
		if name == "info" || name == "help" && len(words) == 1 {
			return nil
		}
		return c.need(c.who, "/", "Sys.Modify")
	}
	switch {
	case name == "info" || name == "help" || name == "?":
		return nil
	case monitorModify[name]:
		return c.need(c.who, "/", "Sys.Modify")
	case c.who.Root():
		return nil
	case monitorRoot[name]:
		return die("root-only command '%s'", name)
	}
	return die("command '%s' non-existent or not assigned a required permission yet, limiting to root user", name)
}

// monitor does what a few commands of QEMU's monitor do; others are taken
// and nothing comes of them.
func (c *call) monitor(vm *VM, words []string) string {
	switch name := words[0]; {
	case c.machines != nil && !kept[name]:
		return c.realMonitor(vm, words)
	case name == "info":
		return c.monitorInfo(vm, words[1:])
	case name == "stop" || name == "s":
		if c.control(vm, StopCPUs) == nil {
			vm.Run.pause(c.now())
		}
	case name == "cont" || name == "c":
		if c.control(vm, ContinueCPUs) == nil {
			vm.Run.cont(c.now())
		}
		c.watchOff(vm)
	case name == "system_reset" && c.machines == nil:
		c.boot(vm)
	case name == "system_powerdown":
		c.askShutdown(vm)
	case name == "system_wakeup":
		vm.Run.Asleep = false
	case name == "quit" || name == "q":
		c.quit(vm, vm.Run)
	case !monitorModify[name] && !monitorRoot[name] && name != "help" && name != "?":
		return fmt.Sprintf("unknown command: '%s'\r\n", name)
	}
	return ""
}

// kept are the commands after which the state says something else.
var kept = wordSet("stop s cont c quit q")

// realMonitor has QEMU itself answer.
func (c *call) realMonitor(vm *VM, words []string) string {
	var out string
	err := c.carry(func(ctx context.Context) (err error) {
		out, err = c.machines.Monitor(ctx, vm.ID, strings.Join(words, " "))
		return err
	})
	if err != nil {
		return "ERROR: " + err.Error() + "\n"
	}
	return out
}

func (c *call) monitorInfo(vm *VM, words []string) string {
	what := ""
	if len(words) > 0 {
		what = words[0]
	}
	switch what {
	case "status":
		return fmt.Sprintf("VM status: %s\r\n", vm.Run.qmpStatus())
	case "version":
		return c.qemuVersion() + "\r\n"
	case "name":
		name := vm.Name()
		if name == "" {
			name = fmt.Sprintf("vm%d", vm.ID)
		}
		return name + "\r\n"
	case "uuid":
		uuid, _ := property(vm.Conf["smbios1"], "uuid", "")
		return uuid + "\r\n"
	case "balloon":
		return fmt.Sprintf("balloon: actual=%d\r\n", vm.Run.Mem>>20)
	}
	return ""
}
