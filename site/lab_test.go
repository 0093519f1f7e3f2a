package site_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// lab is a simulated cluster in virtual time, with the clusters that a process looks after.
type lab struct {
	t     *testing.T
	sim   *pvesim.Sim
	cfg   site.Config
	sites *site.Sites
}

func inLab(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	inWorld(t, labWorld(2), test)
}

func inWorld(t *testing.T, w *pvesim.World, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim, err := pvesim.New(w)
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		l := &lab{t: t, sim: sim, sites: new(site.Sites)}
		l.cfg = l.config()
		test(t, l)
	})
}

// labWorld has some nodes, each with a template of the same name.
func labWorld(nodes int) *pvesim.World {
	w := sim.Lab(nodes, pvesim.WorldNode{CPUs: 64, Memory: 1 << 40}, "debian")
	w.Timing.Snapshot, w.Timing.Resize = pvesim.Duration(500*time.Millisecond), pvesim.Duration(300*time.Millisecond)
	return w
}

// config reaches the lab.
func (l *lab) config() site.Config {
	tr, stop := l.sim.Transport()
	l.t.Cleanup(stop)
	return site.Config{Proxmox: pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "secret"), RoundTripper: tr}}
}

// open opens a site, as the same process does.
func (l *lab) open(opts site.Options) *site.Site {
	l.t.Helper()
	s, err := l.sites.Open(l.cfg, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

var debian = model.Key{Kind: "Image", Name: "debian"}

// owner is a machine of a set.
func owner(set, name string) model.Owner {
	return model.Owner{Door: "test", Set: set, Key: model.Key{Kind: "Machine", Name: name}}
}

// machine is one that is made from the template of the lab.
func machine(cores int) model.VM {
	return model.VM{
		Source: model.Source{Image: debian}, Options: map[string]string{"cores": fmt.Sprint(cores)}, Managed: []string{"cores"},
		Disks: []model.Disk{{Slot: model.RootSlot, Name: "root"}}, Power: model.PowerOn, WaitAddress: true,
	}
}

// put puts machines with what they are made from.
func (l *lab) put(s *site.Site, vm model.VM, owners ...model.Owner) {
	l.t.Helper()
	errs := []error{s.PutImage(model.Owner{Door: "test", Set: owners[0].Set, Key: debian}, model.Image{Template: "debian"})}
	for _, o := range owners {
		errs = append(errs, s.Put(o, vm))
	}
	if err := errors.Join(errs...); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) await(s *site.Site, o model.Owner, until site.Until) site.Outcome {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Minute)
	defer cancel()
	out, err := s.Await(ctx, o, until)
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// guests are the machines of the lab by VMID, without its templates.
func (l *lab) guests() map[int]map[string]string {
	all := map[int]map[string]string{}
	l.sim.Do(func(s *pvesim.State) {
		for id, vm := range s.VMs {
			if id < 9000 || id > 9009 {
				conf := map[string]string{}
				for k, v := range vm.Conf {
					conf[k] = v
				}
				all[id] = conf
			}
		}
	})
	return all
}
