package pvesim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// prepareConfig applies what is pending, unless the VM goes on from saved
// memory, and writes the cloud-init drive.
func (t *task) prepareConfig(vm *VM, pending bool) error {
	if pending {
		if err := t.applyPending(vm, t.logf); err != nil {
			return err
		}
	}
	return t.fillCloudInit(vm, t.logf)
}

// checkStart finds what would keep QEMU from starting, in the order in which
// Proxmox builds QEMU's command line. restored VMs go on from saved memory.
func (t *task) checkStart(vm *VM, restored bool) error {
	if err := t.checkVolumes(vm); err != nil {
		return err
	}
	c := vm.Conf
	if err := t.checkMachineVersion(vm.Node, c["machine"]); err != nil {
		return err
	}
	if err := checkFirmware(c); err != nil {
		return err
	}
	if c["bios"] == "ovmf" && c["efidisk0"] == "" {
		t.warnf("no efidisk configured! Using temporary efivars disk.")
	}
	if err := t.checkHostDevices(vm); err != nil {
		return err
	}
	cpus := c.number("sockets", 1) * c.number("cores", 1)
	if have := t.state.Nodes[vm.Node].CPUs; cpus > have {
		return die("MAX %d vcpus allowed per VM on this node", have)
	}
	if err := checkMemory(c, max(1, t.state.Nodes[vm.Node].NUMA)); err != nil {
		return err
	}
	for _, d := range c.drives() {
		if strings.HasPrefix(d.key, "scsi") && perlBool(d.opt("iothread")) && c["scsihw"] != "virtio-scsi-single" {
			t.warnf("iothread is only valid with virtio disk or virtio-scsi-single controller, ignoring")
		}
	}
	if err := t.checkNets(vm, restored); err != nil {
		return err
	}
	for i := range 10 {
		if v := c[fmt.Sprintf("virtiofs%d", i)]; v != "" {
			if err := t.checkShare(vm, v); err != nil {
				return err
			}
		}
	}
	if c["tpmstate0"] != "" {
		t.logTPM(vm)
	}
	if fault := t.qemuFault(vm); fault != "" {
		t.logf("kvm: %s", fault)
		return die("start failed: QEMU exited with code 1")
	}
	return nil
}

// qemuFault is what QEMU itself doesn't take.
func (s *Sim) qemuFault(vm *VM) string {
	c := vm.Conf
	if bad := badArgument(c["args"]); bad != "" {
		return bad + ": invalid option"
	}
	if bad := s.unknownMachine(c["machine"]); bad != "" {
		return "-machine type=" + bad + ": unsupported machine type"
	}
	if most := c.number("sockets", 1) * c.number("cores", 1); c.number("vcpus", 0) > most {
		return "Invalid CPU topology: maxcpus must be equal to or greater than smp"
	}
	if memoryOf(c) > s.state.Nodes[vm.Node].Memory {
		return "cannot set up guest memory 'pc.ram': Cannot allocate memory"
	}
	return ""
}

// checkVolumes makes sure that all volumes of the VM can be used here.
func (t *task) checkVolumes(vm *VM) error {
	var volids []string
	for _, d := range vm.Conf.drives() {
		if d.onStorage() {
			volids = append(volids, d.volume)
		}
	}
	if state := vm.Conf["vmstate"]; state != "" {
		volids = append(volids, state)
	}
	for _, volid := range volids {
		name, err := t.parseVolID(volid)
		if err != nil {
			return err
		}
		if st := t.state.Storages[name.storage]; !st.HasContent(name.kind) {
			return die("storage '%s' does not support content-type '%s'", name.storage, name.kind)
		}
	}
	for _, volid := range volids {
		storage, _, _ := splitVolID(volid)
		if _, err := t.activate(vm.Node, storage); err != nil {
			return err
		}
	}
	for _, volid := range volids {
		if v, _ := t.volume(vm.Node, volid); v == nil {
			return t.missingVolume(volid)
		}
	}
	return nil
}

// missingVolume is what a storage says of a volume that isn't there.
func (s *Sim) missingVolume(volid string) error {
	storage, name, _ := splitVolID(volid)
	st := s.state.Storages[storage]
	if st != nil && (st.Type == "lvm" || st.Type == "lvmthin") {
		return die("no such logical volume %s/%s", st.Conf["vgname"], name)
	}
	return die("volume '%s' does not exist", volid)
}

// checkNets makes sure that the bridges are there.
func (t *task) checkNets(vm *VM, restored bool) error {
	for i := range 32 {
		value := vm.Conf[fmt.Sprintf("net%d", i)]
		if value == "" {
			continue
		}
		bridge, ok := property(value, "bridge", "")
		if !ok {
			continue
		}
		virtio := strings.HasPrefix(value, "virtio=") || strings.Contains(value, "model=virtio")
		given, hasMTU := property(value, "mtu", "")
		if !t.hasBridge(vm.Node, bridge) {
			if virtio && (hasMTU || t.atLeast(9)) {
				return die("bridge '%s' does not exist", bridge)
			}
			t.logf("bridge '%s' does not exist", bridge)
			t.logf("kvm: -netdev type=tap,id=net%d,ifname=tap%di%d,script=/usr/libexec/qemu-server/pve-bridge,downscript=/usr/libexec/qemu-server/pve-bridgedown: network script /usr/libexec/qemu-server/pve-bridge failed with status 512", i, vm.ID, i)
			return die("start failed: QEMU exited with code 1")
		}
		if !virtio {
			continue
		}
		mtu := 1500
		if hasMTU {
			mtu = atoi(given)
		}
		switch {
		case mtu != 1 && mtu < 576:
			return die("netdev net%d: MTU '%d' is smaller than the IP minimum MTU '576'", i, mtu)
		case mtu > 1500:
			return die("netdev net%d: MTU '%d' is bigger than the bridge MTU '1500'", i, mtu)
		}
		if restored && t.atLeast(9) {
			t.logf("netdev net%d: using 'host_mtu=1500' for migration compat", i)
		}
	}
	return nil
}

func (s *Sim) hasBridge(node, bridge string) bool {
	n := s.state.Nodes[node]
	return n != nil && slices.ContainsFunc(n.Bridges, func(b *Bridge) bool { return b.Name == bridge })
}

// checkShare makes sure that a virtiofs directory is mapped on the node.
func (s *Sim) checkShare(vm *VM, value string) error {
	id, _ := property(value, "dirid", "dirid")
	m := s.state.DirMaps[id]
	if m == nil {
		return die("Directory ID %s does not exist.", id)
	}
	var paths []string
	for _, entry := range m.Map {
		if node, _ := property(entry, "node", ""); node == vm.Node {
			path, _ := property(entry, "path", "")
			paths = append(paths, path)
		}
	}
	switch {
	case len(paths) > 1:
		return die("More than than one directory mapping for node %s.", vm.Node)
	case len(paths) == 0:
		return die("No directory mapping for node %s.", vm.Node)
	case perlBool(firstValue(value, "expose-acl")) && strings.HasPrefix(vm.Conf["ostype"], "w"):
		return die("Please disable ACLs for virtiofs on Windows VMs, otherwise the virtiofs shared directory cannot be mounted.")
	case !s.canShare(paths[0]):
		return die("directory mapping invalid: Path %s does not exist\n", paths[0])
	}
	return nil
}

func firstValue(props, key string) string {
	v, _ := property(props, key, "")
	return v
}

// tpmState is what the TPM's disk holds once it was used.
const tpmState System = "tpm"

// logTPM writes what the TPM emulator says: at the first start it makes the
// state, later it finds it.
func (t *task) logTPM(vm *VM) {
	vol, _ := t.volume(vm.Node, parseDrive("tpmstate0", vm.Conf["tpmstate0"]).volume)
	if vol == nil || vol.System == tpmState {
		t.logf("swtpm_setup: Not overwriting existing state file.")
		return
	}
	vol.System = tpmState
	at := t.now().UTC().Format("Mon 02 Jan 2006 03:04:05 PM UTC")
	for _, line := range []string{
		"Starting vTPM manufacturing as root:root @ " + at,
		"Successfully created RSA 2048 EK with handle 0x81010001.",
		"  Invoking /usr/bin/swtpm_localca --type ek --dir /tmp/swtpm_setup.certs --allow-signing",
		"Successfully created EK certificate for RSA 2048 key.",
		"Successfully created NVRAM area 0x1c00002 for RSA 2048 EK certificate.",
		"Successfully activated PCR banks sha256 among sha1,sha256,sha384,sha512.",
		"Successfully authored TPM state.",
		"Ending vTPM manufacturing @ " + at,
	} {
		t.logf("swtpm_setup: %s", line)
	}
}

// badArgument finds an option in "args" that QEMU doesn't know.
func badArgument(args string) string {
	for _, word := range strings.Fields(args) {
		name, isOption := strings.CutPrefix(word, "-")
		if isOption && !qemuOptions[strings.TrimPrefix(name, "-")] {
			return word
		}
	}
	return ""
}

// qemuOptions are the options that QEMU knows.
var qemuOptions = maps.Collect(func(yield func(string, bool) bool) {
	for _, name := range strings.Fields(`accel acpitable action add-fd append audio audiodev bios blockdev boot
		cdrom chardev chroot compat cpu d D daemonize debugcon device dfilter display drive dtb dump-vmstate
		echr enable-kvm enable-sync-profile fda fdb fsdev fw_cfg g gdb global h hda hdb hdc hdd help icount
		incoming initrd iscsi jitdump k kernel L loadvm m machine mem-path mem-prealloc mon monitor msg mtdblock
		name netdev net nic no-acpi no-fd-bootchk no-hpet no-reboot no-shutdown no-user-config nodefaults
		nographic numa object only-migratable option-rom overcommit parallel perfmap pflash pidfile plugin
		portrait prealloc preconfig prom-env qmp qmp-pretty qtest readconfig record replay rotate rtc run-with
		runas S s sandbox sd seed semihosting serial set shim singlestep smbios smp snapshot spice tb-size
		teams tpmdev trace uuid usb usbdevice vga virtfs vnc watchdog watchdog-action win2k-hack xen-attach
		xen-domid object readconfig`) {
		if !yield(name, true) {
			return
		}
	}
})
