package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pvesim"
)

// driftManifest says something about as many options of a machine as a manifest can.
const driftManifest = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: desktop}
spec:
  cpus: 4
  sockets: 2
  memory: 2Gi
  minMemory: 1Gi
  cpu: {flags: ["+aes"], limit: "3.5", units: 200}
  numa: {}
  spec: {machine: q35, bios: uefi, secureBoot: true, tpm: true, cpuType: host, scsiController: virtio-scsi-single, vga: virtio}
  extraConfig: {watchdog: "model=i6300esb,action=reset", tablet: "0"}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: desk}
spec:
  classRef: {name: desktop}
  powerState: POWER
  vmid: 4711
  networks:
    - {name: lan, mac: "02:00:00:00:00:11", vlan: 12, firewall: true, mtu: 1400, rate: "12.5", queues: 2, linkDown: true}
    - {name: dmz, mac: "02:00:00:00:00:12", staticIP: {address: 192.168.1.25/24, gateway: 192.168.1.1, dns: [192.168.1.1], search: [example.com]}}
  disks:
    - {name: root, size: 4Gi, storage: local-lvm, ssd: true, discard: true, ioThread: true, cache: writeback}
    - {name: data, size: 1Gi, storage: nfs, bus: virtio, backup: false, discard: true}
  userData: {cloudInit: {inline: "#cloud-config\nuser: me\n"}, delivery: proxmox}
  description: the desk in the corner
  tags: [mine]
  onBoot: true
  protection: true
  startup: {order: 2, upDelay: 30, downDelay: 120}
  agent: {enabled: true, trimClonedDisks: true}
`

// driftless are options and parts of them that a manifest says nothing about, or that only
// Proxmox sets.
var driftless = map[string]string{
	"digest": "Proxmox computes it", "meta": "Proxmox sets it", "vmgenid": "Proxmox sets it", "smbios1": "the manifest says nothing about it",
	"description": "the marker is in it: lost-notes-and-tags.txtar and its like", "boot (removed)": "Proxmox boots from the first disk then",
	"efidisk0 (without efitype)": "no manifest says it", "efidisk0 (without ms-cert)": "no manifest says it",
}

// drifts are all ways in which one setting of a config can be changed by hand: each part of it
// that can have another value, and its removal.
func drifts(key, value string) map[string]string {
	list := map[string]string{"removed": ""}
	other := map[string]string{
		"memory": "4096", "balloon": "512", "cores": "1", "sockets": "1", "name": "other", "tags": "pp-none", "cpulimit": "1", "cpuunits": "100", "numa": "0", "onboot": "0",
		"protection": "0", "bios": "seabios", "scsihw": "lsi", "ostype": "win11", "tablet": "1", "nameserver": "9.9.9.9", "searchdomain": "other.example", "ciuser": "evil", "hotplug": "0",
	}
	if v, ok := other[key]; ok {
		list["changed"] = v
		return list
	}
	if key == "boot" {
		list["without its disk"] = "order=net0"
		return list
	}
	for i, part := range strings.Split(value, ",") {
		name, was, pair := strings.Cut(part, "=")
		if !pair {
			name, was = fmt.Sprint(i), part
		}
		parts := strings.Split(value, ",")
		if v, ok := driftedPart(key, name, was); ok {
			if parts[i] = v; pair {
				parts[i] = name + "=" + v
			}
			list[name] = strings.Join(parts, ",")
		}
		if pair && i > 0 && name != "size" && name != "media" {
			list["without "+name] = strings.Join(slices.Delete(slices.Clone(parts), i, i+1), ",")
		}
	}
	return list
}

// driftedPart is another value of a part of an option.
func driftedPart(key, name, was string) (string, bool) {
	switch {
	case name == "size", name == "media", strings.Contains(was, ":vm-"), strings.Contains(was, "/vm-"): // other disks, see detached-disk.txtar
		return "", false
	case name == "bridge":
		return "vmbr2", true
	case was == "0", was == "1":
		return map[string]string{"0": "1", "1": "0"}[was], true
	case name == "cache":
		return "none", true
	case name == "discard", name == "on":
		return "ignore", true
	case strings.HasPrefix(key, "net") && strings.Count(was, ":") == 5:
		return "02:00:00:00:00:99", true
	case key == "ipconfig1" && name == "ip":
		return "192.168.1.77/24", true
	case name == "gw":
		return "192.168.1.254", true
	case strings.Trim(was, "0123456789.") == "":
		return "7", true
	}
	return map[string]string{
		"virtio": "std", "host": "kvm64", "q35": "pc", "v2.0": "v1.2", "+aes": "-aes", "i6300esb": "ib700", "reset": "pause", "4m": "2m", "order=scsi0": "order=net0", "scsi0": "net0",
	}[was], map[string]bool{"virtio": true, "host": true, "q35": true, "+aes": true, "i6300esb": true, "reset": true, "order=scsi0": true, "scsi0": true}[was]
}

// TestNoDriftIsSilent: whatever somebody changes by hand of what a manifest says, in Proxmox' config of a
// machine, is a step, a refusal or a note of plan, and diff shows it, too; running or off.
func TestNoDriftIsSilent(t *testing.T) {
	for _, power := range []string{"On", "Off"} {
		t.Run(power, func(t *testing.T) {
			l := ownLab(t)
			manifest := strings.Replace(driftManifest, "POWER", power, 1)
			if power == "On" { // with empty disks nobody runs an agent
				manifest = strings.Replace(manifest, "agent: {enabled: true, trimClonedDisks: true}", "agent: {enabled: false}", 1)
			}
			file := l.write("desk.yaml", manifest)
			l.must("apply", "-f", file, "--yes")
			var conf pvesim.Conf
			l.sim.Do(func(st *pvesim.State) { conf = maps.Clone(st.VMs[4711].Conf) })
			tried := 0
			for _, key := range slices.Sorted(maps.Keys(conf)) {
				if driftless[key] != "" {
					continue
				}
				for what, value := range drifts(key, conf[key]) {
					if driftless[key+" ("+what+")"] != "" {
						continue
					}
					if value != "" && prop.Canonical(key, value) == prop.Canonical(key, conf[key]) {
						continue // another way to write the same
					}
					tried++
					l.sim.Do(func(st *pvesim.State) {
						if st.VMs[4711].Conf[key] = value; value == "" {
							delete(st.VMs[4711].Conf, key)
						}
					})
					_, out, stderr := l.run("plan", "-f", file)
					if strings.HasPrefix(out, "Nothing to do") {
						t.Errorf("%s (%s): %q → %q:\n%s%s", key, what, conf[key], value, out, stderr)
					}
					if _, out, _ := l.run("diff", "-f", file); out == "" {
						t.Errorf("%s (%s): %q → %q: diff shows nothing", key, what, conf[key], value)
					}
					l.sim.Do(func(st *pvesim.State) { st.VMs[4711].Conf = maps.Clone(conf) })
				}
			}
			if out := l.must("plan", "-f", file); !strings.HasPrefix(out, "Nothing to do") {
				t.Fatalf("it isn't up to date in the end:\n%s", out)
			}
			if tried < 50 {
				t.Errorf("only %d changes were tried", tried)
			}
		})
	}
}
