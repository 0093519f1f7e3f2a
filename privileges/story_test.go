package privileges_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

// story is some manifests and the Proxmox that they are for.
type story struct {
	name  string
	yaml  string
	world func(*pvesim.World) // changes of the default one
	// prepare does what happened before, as root.
	prepare func(c *cluster, want model.Desired) error
	again   bool // in the end, everything is made and deleted once more
	moves   bool // people move guests and drain nodes
	// hidden is what an account that sees nothing can't be told the first time.
	hidden string
	unseen bool // nor the second time: it takes a privilege of its own to be seen
}

// cluster is a simulated cluster.
type cluster struct {
	t    *testing.T
	sim  *pvesim.Sim
	root *pve.Client
}

func (s story) start(t *testing.T, release string) *cluster {
	t.Helper()
	w := pvesim.DefaultWorld()
	w.Release = release
	w.Load, w.Locks = pvesim.Load{AgentWait: pvesim.Duration(3 * time.Second)}, pvesim.Locks{}
	if s.world != nil {
		s.world(w)
	}
	sim, err := pvesim.New(w, pvesim.WithInternet(pvesim.BootableImages{}))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, sim: sim}
	c.root = c.connect(pve.Password("root@pam", "proxplane"))
	return c
}

func (c *cluster) connect(creds pve.Credentials) *pve.Client {
	c.t.Helper()
	return kit.Dial(c.t, c.sim, creds)
}

// wanted is what the manifests want.
func (s story) wanted(t *testing.T) model.Desired {
	t.Helper()
	set, err := manifest.Parse("story.yaml", []byte(s.yaml))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PVE_ENDPOINT": "https://pve1:8006", "PVE_TOKEN_ID": "a@pve!b", "PVE_TOKEN_SECRET": "c"}
	all, err := set.Wanted(manifest.Options{Set: "story", Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%d providers", len(all))
	}
	return all[0].Desired
}

// facts looks at the cluster with these credentials, as doctor does.
func (s story) facts(c *cluster, client *pve.Client) privileges.Facts {
	c.t.Helper()
	ctx := context.Background()
	o := observe.New(client)
	have, err := o.Look(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for vmid, g := range have.Guests {
		if g.Template || g.Pool != "" {
			if err := o.Config(ctx, vmid); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	have = o.Snapshot()
	var options struct {
		Access struct {
			Allow string `json:"user-allow"`
		} `json:"user-tag-access"`
	}
	if err := client.Call(ctx, "GET", "/cluster/options", nil, &options); err != nil {
		c.t.Fatal(err)
	}
	return privileges.Facts{Release: have.Release, Have: have, TagsRestricted: options.Access.Allow == "none", Moves: s.moves}
}

// live lives through everything that may happen to what is wanted, with these
// credentials. The error is the first thing that goes wrong.
func (s story) live(c *cluster, creds pve.Credentials, want model.Desired) error {
	client := c.connect(creds)
	e := engineFor(client)
	want.Allow = model.Allow{Restart: true, Replace: true, Data: true}
	type chapter struct {
		name   string
		change func(*model.Desired)
	}
	chapters := []chapter{
		{"make", func(*model.Desired) {}},
		{"delete snapshots", removeSnapshots}, // 8.4 grows no disk that has any
		{"change", reconfigure},
		{"put right what somebody changed", func(want *model.Desired) { c.eject(*want) }},
		{"turn off", power(model.PowerOff)},
		{"turn on", power(model.PowerOn)},
		{"shut down", power(model.PowerOffGraceful)},
		{"delete", removeVMs},
		{"delete images", removeImages},
	}
	if s.moves {
		chapters = slices.Insert(chapters, 1, chapter{"drain", c.send("pve2")}, chapter{"undrain", c.send("")})
	}
	if s.again {
		first := want
		chapters = append(chapters, chapter{"make again", func(want *model.Desired) { *want = first }}, chapter{"delete again", removeVMs})
	}
	for _, chapter := range chapters {
		want.VMs, want.Moves = slices.Clone(want.VMs), nil
		chapter.change(&want)
		if _, err := e.Plan(context.Background(), want); err != nil {
			return fmt.Errorf("%s: %w", chapter.name, err)
		}
		if err := c.converge(e, want); err != nil {
			return fmt.Errorf("%s: %w", chapter.name, err)
		}
		if chapter.name == "make" {
			if err := c.seen(client, want); err != nil {
				return err
			}
		}
	}
	return nil
}

func engineFor(client *pve.Client) *engine.Engine {
	web := imagefile.New(pvesim.BootableImages{}) // the network doesn't belong into the bubble
	return engine.New(observe.New(client).Fetching(web), act.New(client).Fetching(web))
}

func (c *cluster) converge(e *engine.Engine, want model.Desired) error {
	rep, err := e.Converge(context.Background(), want, engine.Options{Patience: 30 * time.Second})
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range rep.Objects {
		if o.State != engine.StateReady && o.State != engine.StateGone {
			errs = append(errs, fmt.Errorf("%s is %s: %s", o.Owner.Key, o.State, o.Text))
		}
	}
	return errors.Join(errs...)
}

// seen checks that guests are in their pools and have addresses of their own, and what people are shown: the room
// of the nodes that their guests may go to, and the storages that they and their
// templates are on.
func (c *cluster) seen(client *pve.Client, want model.Desired) error {
	have, err := observe.New(client).Look(context.Background())
	if err != nil {
		return err
	}
	for _, v := range want.VMs {
		for name, node := range have.Nodes {
			if node.Memory == 0 && (len(v.Place.Nodes) == 0 || slices.Contains(v.Place.Nodes, name)) {
				return fmt.Errorf("the memory of %s isn't shown, where %s may go", name, v.Name)
			}
		}
		guests := slices.Clone(have.Tagged(v.Owner))
		for _, g := range guests {
			if in := c.poolOf(g.VMID); in != v.Pool {
				return fmt.Errorf("%s is in pool %q", v.Name, in)
			}
		}
		for _, i := range want.Images {
			if i.Owner.Key == v.Source.Image {
				guests = append(guests, have.Named(i.Template)...)
			}
		}
		for _, g := range guests {
			for _, storage := range c.storagesOf(g.VMID) {
				if have.Storages[storage] == nil {
					return fmt.Errorf("storage %s isn't shown, where %s is", storage, g.Name)
				}
			}
		}
	}
	return c.apart()
}

func (c *cluster) poolOf(vmid int) (in string) {
	c.sim.Do(func(s *pvesim.State) {
		for id, pool := range s.Pools {
			if pool.VMs[vmid] {
				in = id
			}
		}
	})
	return in
}

// storagesOf are the storages that a guest's drives are on.
func (c *cluster) storagesOf(vmid int) []string {
	var out []string
	c.sim.Do(func(s *pvesim.State) {
		for key, value := range s.VMs[vmid].Conf {
			for _, bus := range []string{"scsi", "ide", "sata", "virtio", "efidisk", "tpmstate"} {
				if rest, ok := strings.CutPrefix(key, bus); ok && strings.Trim(rest, "0123456789") == "" && strings.Contains(value, ":") {
					out = append(out, model.StorageOf(value))
				}
			}
		}
	})
	return out
}

// eject takes the discs out that the manifests want, by hand and as root.
func (c *cluster) eject(want model.Desired) {
	c.t.Helper()
	ctx := context.Background()
	have, err := observe.New(c.root).Look(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, v := range want.VMs {
		for _, d := range v.Disks {
			for _, g := range have.Tagged(v.Owner) {
				if !d.CDROM {
					continue
				}
				if err := c.root.VM(g.Node, g.VMID).SetConfig(ctx, pve.ConfigChange{Delete: []string{d.Slot}}); err != nil {
					c.t.Fatal(err)
				}
			}
		}
	}
}

// reconfigure changes what every manifest may change without naming anything new.
func reconfigure(want *model.Desired) {
	for i := range want.VMs {
		v := &want.VMs[i]
		v.Options, v.Disks = maps.Clone(v.Options), slices.Clone(v.Disks)
		more(v.Options, "memory", 512)
		more(v.Options, "cores", 1)
		for d := range v.Disks {
			if v.Disks[d].Size > 0 && !strings.HasPrefix(v.Disks[d].Slot, "efi") {
				v.Disks[d].Size += 1 << 30
			}
		}
		v.Description = strings.TrimSpace(v.Description + " changed")
		v.Tags = append(slices.Clone(v.Tags), "changed")
	}
}

// more raises an option that the manifest names; an empty one is Proxmox' default.
func more(options map[string]string, key string, by int) {
	text, named := options[key]
	if !named {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 1
	}
	options[key] = strconv.Itoa(n + by)
}

func power(p model.Power) func(*model.Desired) {
	return func(want *model.Desired) {
		for i := range want.VMs {
			if want.VMs[i].HA == nil { // the manager decides then
				want.VMs[i].Power = p
			}
		}
	}
}

func removeSnapshots(want *model.Desired) {
	want.Snapshots = slices.Clone(want.Snapshots)
	for i := range want.Snapshots {
		want.Snapshots[i].Deleted = true
	}
}

func removeVMs(want *model.Desired) {
	for i := range want.VMs {
		want.VMs[i].Deleted = true
	}
}

func removeImages(want *model.Desired) {
	want.Images = slices.Clone(want.Images)
	for i := range want.Images {
		want.Images[i].Deleted = true
	}
}
