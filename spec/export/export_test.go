package export_test

import (
	"context"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/export"
	"github.com/proxplane/proxplane/test/kit/anyguest"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// lab is a simulated cluster whose guests anybody may have made.
type lab struct {
	*pvesim.Sim
	client *pve.Client
	id     int // of the guest
}

func newLab(t testing.TB, options ...pvesim.Option) *lab {
	t.Helper()
	sim, err := pvesim.New(pvesim.DefaultWorld(), options...)
	if err != nil {
		t.Fatal(err)
	}
	tr, stop := sim.Transport()
	t.Cleanup(func() {
		stop()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := pve.New(pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "proxplane"), RoundTripper: tr})
	if err != nil {
		t.Fatal(err)
	}
	return &lab{sim, c, 700}
}

// create has Proxmox make a guest.
func (l *lab) create(ctx context.Context, settings pve.Settings) error {
	l.id++
	upid, err := l.client.Node("pve1").Create(ctx, pve.CreateOptions{ID: l.id, Settings: settings})
	if err != nil {
		return err
	}
	_, err = l.client.Task(upid).Wait(ctx)
	return err
}

// put puts a guest there, with a config that somebody may have edited.
func (l *lab) put(conf map[string]string) {
	l.Do(func(st *pvesim.State) {
		vm := &pvesim.VM{ID: l.id, Node: "pve1", Conf: pvesim.Conf{"name": "any"}}
		maps.Copy(vm.Conf, conf)
		st.VMs[l.id] = vm
	})
}

// wall gives the guest a firewall, as somebody has made it by hand.
func (l *lab) wall(options map[string]string, rules []map[string]string) {
	l.Do(func(st *pvesim.State) {
		f := &pvesim.FirewallFile{Options: options}
		for _, r := range rules {
			f.Rules = append(f.Rules, r)
		}
		st.Firewall.Files["vm/"+strconv.Itoa(l.id)] = f
	})
}

// observe is what there is of the guest.
func (l *lab) observe(ctx context.Context) (*model.Observed, *model.Guest, error) {
	o := observe.New(l.client)
	if err := o.Refresh(ctx, 0); err != nil {
		return nil, nil, err
	}
	if err := o.Config(ctx, l.id); err != nil {
		return nil, nil, err
	}
	if err := o.Status(ctx, l.id); err != nil {
		return nil, nil, err
	}
	if err := o.Firewall(ctx, l.id); err != nil {
		return nil, nil, err
	}
	for _, d := range o.Snapshot().Guests[l.id].Config.Disks {
		if t := d.Template(); o.Snapshot().Guests[t] != nil {
			if err := o.Config(ctx, t); err != nil {
				return nil, nil, err
			}
		}
	}
	have := o.Snapshot()
	return have, have.Guests[l.id], nil
}

// pools are the networks of Providers: without a pool, with one that has the addresses of guests, and with
// others that guests don't fit in.
var pools = []spec.Networks{
	nil,
	{"lan": {Bridge: "vmbr0", Pool: &spec.Pool{Prefix: "10.0.0.0/24", Gateway: "10.0.0.1", Ranges: []string{"10.0.0.2-10.0.0.9"}, DNS: []string{"1.1.1.1"}}}},
	{"lan": {Bridge: "vmbr0", Pool: &spec.Pool{Prefix: "10.0.0.0/24", Gateway: "10.0.0.254", Ranges: []string{"10.0.0.2-10.0.0.9"}}}, "far": {Bridge: "vmbr1", Pool: &spec.Pool{Prefix: "10.0.0.0/16", Ranges: []string{"10.0.1.1-10.0.1.9"}}}},
	{"lan": {Bridge: "vmbr0", Pool: &spec.Pool{Prefix: "10.0.0.0/24", Gateway: "10.0.0.1", Prefix6: "fd00::/64", Ranges: []string{"10.0.0.2-10.0.0.9", "fd00::1-fd00::9"}, DNS: []string{"1.1.1.1", "9.9.9.9"}, Search: []string{"lan", "example.com"}}}},
}

func ownerOf(g *model.Guest) model.Owner {
	return model.Owner{Door: "terraform", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: export.NameOf(g)}}
}

// changes says what a plan would do to a guest that is the machine's, beside our marks.
func changes(m export.Machine, have *model.Observed, g *model.Guest) []string {
	d := model.Desired{Set: m.VM.Owner.Set, Range: m.VM.Range, VMs: []model.VM{m.VM}}
	if m.Image != nil {
		d.Images = []model.Image{*m.Image}
	}
	o := export.PlanAs(d, have, g, m.VM)
	var list []string
	for _, s := range o.Steps {
		if !export.OnlyMarks(s.Action) {
			list = append(list, s.What+": "+s.Why)
		}
	}
	for _, r := range o.Refused {
		list = append(list, "refused: "+r.What)
	}
	if o.Wait != nil {
		list = append(list, "wait: "+o.Wait.Text)
	}
	return list
}

// What is exported, translated back, changes nothing.
func TestWhatIsExportedGivesAnEmptyPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		for _, c := range anyguest.ByHand {
			if err := l.create(t.Context(), c.Config); err != nil {
				t.Fatal(err)
			}
			have, g, err := l.observe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, networks := range pools {
				m, err := export.Of(have, g, ownerOf(g), networks)
				if err != nil {
					t.Errorf("%s: %v", c.Reason, err)
					continue
				}
				if list := changes(m, have, g); len(list) > 0 {
					t.Errorf("%s: it would %s", c.Reason, strings.Join(list, "\n"))
				}
			}
		}
	})
}

func TestWhatIsExportedOfAnyGuestGivesAnEmptyPlan(t *testing.T) {
	l := newLab(t, pvesim.WithClock(pvesim.NewFastClock(50)))
	rapid.Check(t, func(rt *rapid.T) {
		conf, networks := anyguest.Settings(rt), rapid.SampledFrom(pools).Draw(rt, "pools")
		l.put(conf)
		l.wall(anyguest.Firewall(rt))
		have, g, err := l.observe(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		m, err := export.Of(have, g, ownerOf(g), networks)
		if err != nil {
			rt.Fatalf("%v\n%v", err, conf)
		}
		again, _, err := spec.VM(&spec.Cluster{Networks: networks}, m.Spec)
		if err != nil || !reflect.DeepEqual(again, m.VM) {
			rt.Fatalf("translated again it is %+v, %v", again, err)
		}
		if list := changes(m, have, g); len(list) > 0 || export.Changes(m.Object) > 0 {
			rt.Fatalf("it would %s\n%v", strings.Join(list, "\n"), conf)
		}
		for _, n := range m.Spec.Networks {
			if n.StaticIP == nil {
				continue
			}
			for _, text := range append(n.StaticIP.Addresses, n.StaticIP.Address) {
				if a, err := netip.ParsePrefix(text); err == nil && slices.ContainsFunc(networks.Pools(), func(p model.AddressPool) bool { return p.Contains(a.Addr()) }) {
					rt.Fatalf("%s is one of a pool\n%v", text, conf)
				}
			}
		}
	})
}

// A guest that is a linked clone says so, unless that says less.
func TestLinkedClonesNameTheirTemplate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.put(map[string]string{"scsi0": "local-lvm:base-9000-disk-0/vm-700-disk-0,size=10G", "boot": "order=scsi0", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"})
		have, g, err := l.observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := export.Of(have, g, ownerOf(g), nil)
		if err != nil {
			t.Fatal(err)
		}
		template := have.Guests[9000]
		if m.Image == nil || m.Image.Template != template.Name || m.Spec.Source.Image.Source != template.Name || m.VM.Source.Image != m.Image.Owner.Key {
			t.Errorf("the image is %+v, its spec %+v", m.Image, m.Spec.Source.Image)
		}
	})
}

// What can't be said is named, with the reason, and stays as it is.
func TestWhatCantBeSaidIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.put(map[string]string{"scsi0": "local-lvm:vm-700-disk-0,size=1G", "scsi1": "/dev/sdb", "net0": "virtio=BC:24:11:00:00:01", "ide1": "none,media=cdrom", "smbios1": "uuid=1-2,serial=x"})
		have, g, err := l.observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := export.Of(have, g, ownerOf(g), nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"net0", "scsi1"}; !slices.Equal(slices.Sorted(maps.Keys(m.Omitted)), want) {
			t.Errorf("omitted are %v", m.Omitted)
		}
		for _, key := range []string{"ide1", "smbios1"} {
			if m.Lost[key] == "" {
				t.Errorf("that %s is lost isn't said: %v", key, m.Lost)
			}
		}
		if m.Lost["net0"] != "" {
			t.Errorf("net0 is both omitted and lost: %v", m.Lost)
		}
	})
}
