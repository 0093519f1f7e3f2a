package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/anyguest"
	"github.com/proxplane/proxplane/test/kit/chance"
)

// ofItself are what each machine has of its own, whatever it is made from.
var ofItself = []string{"meta", "vmgenid", "digest", "description", "tags", "name"}

var volumes = regexp.MustCompile(`(?:[a-z-]+:(?:\d+/)?(?:base-[^/]+/(?:\d+/)?)?(?:vm-\d+-[a-z]+-?\d*|vm-\d+-cloudinit)(?:\.[a-z0-9]+)?)`)

// comparable is a config without what differs between two machines that are alike.
func comparableConfig(conf pvesim.Conf) map[string]string {
	out := map[string]string{}
	for key, value := range conf {
		if !slices.Contains(ofItself, key) {
			out[key] = volumes.ReplaceAllString(value, "volume")
		}
	}
	if parts := strings.Split(out["smbios1"], ","); len(parts) > 0 {
		parts = slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, "uuid=") })
		if out["smbios1"] = strings.Join(parts, ","); out["smbios1"] == "" {
			delete(out, "smbios1")
		}
	}
	return out
}

// anew imports a machine, removes it, applies its manifest, and says what differs and isn't
// in a comment.
func (l *lab) anew(fail func(string, ...any), id int) {
	var before map[string]string
	l.sim.Do(func(st *pvesim.State) { before = comparableConfig(st.VMs[id].Conf) })
	code, manifest, stderr := l.run("import", fmt.Sprint(id))
	if code != ui.ExitOK {
		fail("import: exit %d\n%s", code, stderr)
		return
	}
	l.sim.Do(func(st *pvesim.State) { delete(st.VMs, id) })
	l.sim.Advance(60e9)
	file := l.write(fmt.Sprintf("anew-%d.yaml", id), manifest)
	if code, out, stderr := l.run("apply", "-f", file, "--yes"); code != ui.ExitOK {
		fail("apply: exit %d\n%s%s\n%s", code, out, stderr, manifest)
		return
	}
	var after map[string]string
	l.sim.Do(func(st *pvesim.State) { after = comparableConfig(st.VMs[id].Conf) })
	keys := map[string]bool{}
	for _, m := range []map[string]string{before, after} {
		for key := range m {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if before[key] != after[key] && !strings.Contains(manifest, "\n# - "+key+": ") && !alike(key, before, after, manifest) {
			fail("%s was %q and is %q, and no comment says so:\n%s", key, before[key], after[key], manifest)
		}
	}
	l.sim.Do(func(st *pvesim.State) { delete(st.VMs, id) })
	l.sim.Advance(60e9)
}

// alike are differences that mean nothing, or that another comment speaks of.
func alike(key string, before, after map[string]string, manifest string) bool {
	sorted := func(text string) string {
		parts := strings.Split(text, ",")
		slices.Sort(parts)
		return strings.Join(slices.DeleteFunc(parts, func(p string) bool {
			return strings.HasPrefix(p, "ms-cert=") || strings.HasPrefix(p, "size=") || strings.HasPrefix(p, "format=")
		}), ",")
	}
	defaults := map[string]string{"ostype": "other", "cpu": "kvm64", "scsihw": "lsi", "cores": "1", "sockets": "1", "memory": "512", "agent": "0", "onboot": "0", "numa": "0", "bios": "seabios", "hotplug": "1"}
	or := func(value string) string {
		if value == "" {
			return defaults[key]
		}
		return value
	}
	same := prop.Canonical(key, before[key]) == prop.Canonical(key, after[key])
	return same || sorted(before[key]) == sorted(after[key]) || or(before[key]) == or(after[key]) || key == "scsi0" && strings.Contains(manifest, "is scsi0")
}

func TestMachinesMadeAnewFromTheirManifestsAreAlike(t *testing.T) {
	l := ownLab(t)
	for i, text := range l.made() {
		var id int
		_, _ = fmt.Sscan(text, &id)
		reason := "a linked clone"
		if i < len(anyguest.ByHand) {
			reason = anyguest.ByHand[i].Reason
		}
		l.anew(func(format string, args ...any) { t.Errorf(reason+": "+format, args...) }, id)
	}
}

// safe are options that Proxmox takes as they are, with nothing around them.
var safe = []string{
	"acpi", "agent", "audio0", "autostart", "balloon", "bios", "ciuser", "cores", "cpu", "cpulimit", "cpuunits", "freeze", "hotplug", "keyboard", "kvm", "localtime", "machine",
	"memory", "nameserver", "numa", "onboot", "ostype", "reboot", "rng0", "scsihw", "searchdomain", "serial0", "shares", "smbios1", "sockets", "startdate",
	"startup", "tablet", "tags", "vga", "watchdog", "ipconfig0", "net0", "net3", "ide0", "migrate_downtime",
}

func TestAnyMachineMadeAnewFromItsManifestIsAlike(t *testing.T) {
	l := ownLab(t)
	client := l.client()
	id := 3000
	chance.CheckFew(t, 12, func(t *rapid.T) {
		id++
		settings := pve.Settings{"name": fmt.Sprintf("anew-%d", id)}
		for _, key := range safe {
			if rapid.IntRange(0, 4).Draw(t, key+"?") == 0 {
				settings[key] = rapid.SampledFrom(anyguest.Options[key]).Draw(t, key)
			}
		}
		if strings.Contains(settings["ide0"], "iso/") {
			settings["ide0"] = "none,media=cdrom"
		}
		for _, slot := range []string{"scsi0", "virtio1", "sata0", "efidisk0", "tpmstate0", "ide2"} {
			if !rapid.Bool().Draw(t, slot+"?") {
				continue
			}
			settings[slot] = rapid.SampledFrom(map[string][]string{
				"scsi0": {"local-lvm:2", "local-lvm:2,discard=on,ssd=1", "nfs:3,format=qcow2,serial=x"}, "virtio1": {"local-lvm:1,cache=writeback", "local-lvm:1,iops_rd=100"}, "sata0": {"nfs:1,format=qcow2,backup=0"},
				"efidisk0": {"local-lvm:1,efitype=4m", "local-lvm:1,efitype=2m", "local-lvm:1,efitype=4m,pre-enrolled-keys=1"}, "tpmstate0": {"local-lvm:1,version=v2.0", "local-lvm:1,version=v1.2"}, "ide2": {"local-lvm:cloudinit"},
			}[slot]).Draw(t, slot)
		}
		upid, err := client.Node("pve2").Create(l.Context(), pve.CreateOptions{ID: id, Settings: settings})
		if err == nil {
			_, err = client.Task(upid).Wait(l.Context())
		}
		if err != nil {
			t.Skip(err) // Proxmox doesn't take these together
		}
		l.anew(t.Errorf, id)
	})
}
