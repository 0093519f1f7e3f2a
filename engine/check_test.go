package engine_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// seeded is a machine with first-boot data on a drive of its own.
func seeded(name string) model.VM { return seedOf(name, "#cloud-config\nhostname: "+name+"\n") }

func seedOf(name, userData string) model.VM {
	vm := machine(name)
	files := map[string][]byte{"user-data": []byte(userData), "meta-data": []byte("instance-id: " + name + "\n")}
	vm.Seed = &model.Seed{Storage: "local", Digest: firstboot.Digest(files), Files: files}
	return vm
}

// check holds what must be true whatever happened: each machine that is wanted is
// there once and up to date, those that are to go are gone, and nothing is left
// behind.
func (l *lab) check(want model.Desired) {
	l.t.Helper()
	wanted := map[string]model.VM{}
	for _, vm := range want.VMs {
		if !vm.Deleted {
			wanted[vm.Name] = vm
		}
	}
	l.sim.Do(func(s *pvesim.State) {
		seen := map[string]int{}
		for id, vm := range s.VMs {
			if id >= 9000 {
				continue
			}
			_, m, ok := model.ParseDescription(vm.Conf["description"])
			if !ok || m.Owner.Set != want.Set {
				continue
			}
			name := vm.Conf["name"]
			if templateWanted(want, m.Owner) {
				if name += " on " + vm.Node; vm.Conf["template"] != "1" {
					l.t.Errorf("VM %d, the template %s, is only half made", id, name)
				}
				wanted[name] = model.VM{}
			}
			if seen[name] != 0 {
				l.t.Errorf("%s is there twice: VMs %d and %d", name, seen[name], id)
			}
			seen[name] = id
			w, ok := wanted[name]
			if !ok {
				l.t.Errorf("VM %d (%s) is there, and nobody wants it", id, name)
				continue
			}
			if w.Name != "" {
				l.checkMachine(w, m, vm)
			}
		}
		for name := range wanted {
			if seen[name] == 0 {
				l.t.Errorf("%s isn't there", name)
			}
		}
		l.checkVolumes(s)
		for sid := range s.HA.Resources {
			if id := atoi(strings.TrimPrefix(sid, "vm:")); s.VMs[id] == nil {
				l.t.Errorf("HA still knows %s", sid)
			}
		}
	})
}

// templateWanted reports whether a guest is a template of an image that is wanted.
func templateWanted(want model.Desired, o model.Owner) bool {
	return slices.ContainsFunc(want.Images, func(i model.Image) bool { return i.Owner.Key == o.Key && !i.Deleted && i.ISO == "" })
}

func (l *lab) checkMachine(want model.VM, m model.Marker, vm *pvesim.VM) {
	l.t.Helper()
	if m.Owner != want.Owner {
		l.t.Errorf("VM %d says that it is %+v", vm.ID, m.Owner)
	}
	if len(want.Leases) > 0 {
		leases := slices.Clone(want.Leases)
		for i, lease := range leases {
			leases[i].Has = model.IPConfig(vm.Conf[lease.Option()])
			for _, a := range leases[i].Has {
				if !lease.Pool.Contains(a.Addr()) || !slices.Contains(m.Addresses[lease.Slot], a.Addr().String()) {
					l.t.Errorf("VM %d has %s, which isn't its own of the pool: %v", vm.ID, a, m.Addresses)
				}
			}
		}
		want = want.Leased(leases)
	}
	if (vm.Run != nil) != (want.Power == model.PowerOn) {
		l.t.Errorf("VM %d runs: %v", vm.ID, vm.Run != nil)
	}
	for k, v := range want.Options {
		if vm.Conf[k] != v {
			l.t.Errorf("VM %d has %s %q, want %q", vm.ID, k, vm.Conf[k], v)
		}
	}
	if vm.Conf["lock"] != "" {
		l.t.Errorf("VM %d has lock %q", vm.ID, vm.Conf["lock"])
	}
	for k, v := range vm.Pending {
		if _, ours := want.Options[k]; ours {
			l.t.Errorf("VM %d has %s=%s pending", vm.ID, k, v)
		}
	}
	if want.Seed != nil && !attached(vm, want.Seed.Digest[:12]+want.Seed.Leased) {
		l.t.Errorf("VM %d doesn't have its first-boot data: %v", vm.ID, vm.Conf)
	}
}

// attached reports whether the first-boot data is in a drive, or is going to be
// after the next start.
func attached(vm *pvesim.VM, digest string) bool {
	for _, conf := range []pvesim.Conf{vm.Conf, vm.Pending} {
		for _, value := range conf {
			if strings.Contains(value, digest+".iso,media=cdrom") {
				return true
			}
		}
	}
	return false
}

var volumeVMID = regexp.MustCompile(`(?:vm|base)-(\d+)-`)

// checkVolumes finds volumes that no guest knows.
func (l *lab) checkVolumes(s *pvesim.State) {
	l.t.Helper()
	known := func(name string) bool {
		for _, vm := range s.VMs {
			confs := []pvesim.Conf{vm.Conf, vm.Pending}
			for _, snap := range vm.Snaps {
				confs = append(confs, snap.Conf)
			}
			for _, conf := range confs {
				for _, value := range conf {
					if strings.Contains(value, name) {
						return true
					}
				}
			}
		}
		return false
	}
	for at, space := range s.Spaces {
		for name, v := range space.Volumes {
			ours := strings.Contains(name, "proxplane-") || volumeVMID.MatchString(name) && v.VMID < 9000
			if ours && !known(name) {
				l.t.Errorf("%s on %s was left behind", name, at)
			}
		}
	}
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}
