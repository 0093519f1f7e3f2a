package examples_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// everything is all that could be left behind, by what it is called.
func (s *site) everything() map[string]string {
	out := map[string]string{}
	s.sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			out[fmt.Sprintf("vm %d", id)] = vmText(st, vm)
		}
		for at, space := range st.Spaces {
			for _, v := range space.Volumes {
				out[volumeTitle(at, v.Name)] = volumeText(v)
			}
		}
		for id, r := range st.HA.Resources {
			out["ha "+id] = fmt.Sprintf("  %v\n", r)
		}
		for id, r := range st.HA.Rules {
			out["ha rule "+id] = fmt.Sprintf("  %v\n", r)
		}
		for id, m := range st.DirMaps {
			out["share "+id] = fmt.Sprintf("  %s\n", strings.Join(m.Map, "\n  "))
		}
		for id, p := range st.Pools {
			out["pool "+id] = fmt.Sprintf("  %v\n", slices.Sorted(maps.Keys(p.VMs)))
		}
		firewall, err := json.Marshal(st.Firewall)
		if err != nil {
			s.t.Fatal(err)
		}
		out["firewall"] = fmt.Sprintf("  %s\n", firewall)
	})
	return out
}

func volumeTitle(at pvesim.SpaceKey, name string) string {
	if at.Node == "" {
		return fmt.Sprintf("volume %s:%s", at.Storage, name)
	}
	return fmt.Sprintf("volume %s:%s on %s", at.Storage, name, at.Node)
}

func volumeText(v *pvesim.Volume) string {
	text := fmt.Sprintf("  %s, %s, %s", v.Content, v.Format, sizeText(v.Size))
	if v.Content == "iso" {
		text = "  iso"
	}
	if v.Parent != "" {
		text += ", a linked copy of " + v.Parent
	}
	for _, s := range v.Snaps {
		text += ", snapshot " + s.Name
	}
	return text + "\n"
}

func sizeText(n int64) string {
	if n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// ownIDs are what each guest has of its own, whatever is wanted of it.
var ownIDs = map[string]bool{"smbios1": true, "vmgenid": true, "meta": true}

// sameOnAll leaves out what each release puts there by itself: the version of the
// board for some systems, and which keys an EFI disk has.
func sameOnAll(value string) string {
	return boardVersion.ReplaceAllString(strings.ReplaceAll(value, ",ms-cert=2023k", ""), "pc-q35-(its newest)")
}

var boardVersion = regexp.MustCompile(`^pc-q35-[\d.]+\+pve\d+$`)

// vmText is all about a guest, field by field.
func vmText(st *pvesim.State, vm *pvesim.VM) string {
	var b strings.Builder
	state := "stopped"
	if vm.Run != nil {
		state = "running"
	}
	fmt.Fprintf(&b, "  on %s, %s\n", vm.Node, state)
	for _, key := range slices.Sorted(maps.Keys(vm.Conf)) {
		if !ownIDs[key] {
			fmt.Fprintf(&b, "  %s: %s\n", key, indented(sameOnAll(vm.Conf[key])))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(vm.Pending)) {
		fmt.Fprintf(&b, "  pending %s: %s\n", key, vm.Pending[key])
	}
	for _, key := range slices.Sorted(maps.Keys(vm.Deletes)) {
		fmt.Fprintf(&b, "  pending removal of %s\n", key)
	}
	for _, name := range slices.Sorted(maps.Keys(vm.Snaps)) {
		conf := vm.Snaps[name].Conf
		fmt.Fprintf(&b, "  snapshot %s: %s\n", name, indented(conf["description"]))
		fmt.Fprintf(&b, "  snapshot %s has memory: %t; scsi0: %s\n", name, conf["vmstate"] != "", conf["scsi0"])
	}
	if vm.Run != nil && vm.Run.Guest != nil {
		fmt.Fprintf(&b, "  inside it is called %s\n", vm.Run.Guest.Name)
		for _, mac := range slices.Sorted(maps.Keys(vm.Run.Guest.Net)) {
			fmt.Fprintf(&b, "  inside, %s is told %s\n", mac, strings.Join(vm.Run.Guest.Net[mac], ", "))
		}
	}
	for id, pool := range st.Pools {
		if pool.VMs[vm.ID] {
			fmt.Fprintf(&b, "  in pool %s\n", id)
		}
	}
	return b.String()
}

func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
}

// made is what there is more than before, with what is on the seeds.
func (s *site) made(before map[string]string) string {
	s.t.Helper()
	now := s.everything()
	var b strings.Builder
	for _, title := range slices.Sorted(maps.Keys(now)) {
		if was, known := before[title]; known && was == now[title] {
			continue
		}
		fmt.Fprintf(&b, "%s\n%s", title, now[title])
		var vmid int
		if n, _ := fmt.Sscanf(title, "vm %d", &vmid); n == 1 {
			b.WriteString(s.addresses(vmid))
		}
		if m := isoTitle.FindStringSubmatch(title); m != nil {
			b.WriteString(s.seed(m[1], m[2]))
		}
	}
	return b.String()
}

// addresses are what the guest's agent tells, if it has one.
func (s *site) addresses(vmid int) string {
	s.t.Helper()
	node, told := "", false
	s.sim.Do(func(st *pvesim.State) {
		vm := st.VMs[vmid]
		node, told = vm.Node, vm.Run != nil && vm.Conf["agent"] != ""
	})
	if !told {
		return ""
	}
	client, err := pve.New(pve.Config{Endpoints: []string{"https://pve"}, Credentials: pve.Password("root@pam", "proxplane"), RoundTripper: s.rt.RoundTripper})
	if err != nil {
		s.t.Fatal(err)
	}
	for {
		nics, err := client.VM(node, vmid).Agent().Interfaces(s.t.Context())
		if errors.Is(err, pve.ErrAgentNotRunning) {
			time.Sleep(time.Second) // it has just been started again; time is virtual
			continue
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return addressText(nics)
	}
}

func addressText(nics []pve.GuestInterface) string {
	var b strings.Builder
	for _, n := range nics {
		for _, a := range n.Addresses {
			addr := netip.MustParseAddr(a.Address)
			switch {
			case addr.IsLoopback() || addr.IsLinkLocalUnicast():
			case leases.Contains(addr):
				fmt.Fprintf(&b, "  its agent tells: %s has an address by DHCP\n", n.MAC)
			default:
				fmt.Fprintf(&b, "  its agent tells: %s has %s/%d\n", n.MAC, a.Address, a.Prefix)
			}
		}
	}
	return b.String()
}

// leases are the addresses of the simulator's DHCP.
var leases = netip.MustParsePrefix("192.168.77.0/24")

var isoTitle = regexp.MustCompile(`^volume (\S+:iso/\S+)(?: on (\S+))?$`)

// seed reads first-boot data back from an uploaded ISO, as a guest would.
func (s *site) seed(volume, node string) string {
	s.t.Helper()
	if node == "" {
		node = "pve-1"
	}
	image, err := s.sim.ReadVolume(node, volume)
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.t.TempDir(), "seed.iso")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		s.t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	disk, err := iso9660.Read(file.New(f, true), int64(len(image)), 0, 0)
	if err != nil {
		s.t.Fatalf("%s: %v", volume, err)
	}
	entries, err := disk.ReadDir(".")
	if err != nil {
		s.t.Fatalf("%s: %v", volume, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  labelled %s\n", strings.TrimRight(disk.Label(), " \x00"))
	for _, e := range entries {
		text, err := disk.ReadFile(e.Name())
		if err != nil {
			s.t.Fatalf("%s of %s: %v", e.Name(), volume, err)
		}
		fmt.Fprintf(&b, "  %s:\n      %s\n", e.Name(), indented(string(text)))
	}
	return b.String()
}
