package robustness

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// The neighbour has rights on one VM only, and may do with it what he likes: give it the
// name of a template that we use, make it a template, write our marker and our tags onto
// it. None of this may make us change it, or make anything from it.
const (
	neighbourVM     = 500
	neighbourSecret = "5e4c7a1f-0000-4000-8000-c0ffee000003"
)

const neighbours kind = "hostile neighbour"

// neighbour is that user.
type neighbour struct {
	run    *run
	client *pve.Client
	turn   chan struct{} // he does one thing after the other
}

// invite gives the neighbour his VM, beside a history that is as it was without him.
func (h *history) invite() {
	d := newDice(h.seed, "neighbour")
	w := h.world
	h.neighbour = true
	w.Users = append(slices.Clone(w.Users), pvesim.WorldUser{ID: "mallory@pve", Tokens: []pvesim.WorldToken{{Name: "own", Secret: neighbourSecret}}})
	w.ACL = append(w.ACL, pvesim.WorldACL{Path: fmt.Sprintf("/vms/%d", neighbourVM), Role: "PVEVMAdmin", User: "mallory@pve"})
	node := pick(d, w.nodes...)
	w.pin(node)
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: neighbourVM, Node: node, System: pvesim.WithAgent, Config: map[string]string{
		"name": "mine", "cores": "1", "memory": "1024", "scsi0": pick(d, w.disks...) + ":4", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
	}})
	var deeds []event
	for range d.number(1, 3) {
		deeds = append(deeds, h.hostile(d))
	}
	for _, e := range deeds {
		at := d.IntN(len(h.events) + 1)
		if d.chance(0.4) {
			at = 0 // before anything of ours is there
		}
		h.events = slices.Insert(h.events, at, e)
	}
}

// pin says which templates are meant, where a name alone doesn't tell: a template is that
// of its node, so somebody who has none of the name beside his VM could be it.
func (w *world) pin(node string) {
	for _, name := range w.images {
		beside := slices.ContainsFunc(w.Guests, func(g pvesim.WorldGuest) bool { return g.Node == node && g.Config["name"] == name })
		w.pinned = w.pinned || !beside
	}
	if !w.pinned {
		return
	}
	w.Pools = append(w.Pools, pvesim.WorldPool{ID: goldenPool})
	for i, g := range w.Guests {
		if g.Template {
			w.Guests[i].Pool = goldenPool
		}
	}
}

// goldenPool is where the templates are that are meant.
const goldenPool = "golden"

// hostile draws something that the neighbour does. It takes no time, so that all else
// happens when it did without him.
func (h *history) hostile(d dice) event {
	set, name, image := setNames[d.IntN(max(h.world.sets, 1))], pick(d, "vm-a", "vm-b", "vm-c"), pick(d, h.world.images...)
	if first, _, ok := strings.Cut(h.events[0].what, ":"); ok && d.chance(0.5) && strings.Contains(first, "/") {
		set, name, _ = strings.Cut(first, "/") // whose machine is wanted first
	}
	switch d.weighted(2, 1, 2) {
	case 0:
		return event{0, neighbours, fmt.Sprintf("the neighbour names VM %d %s and makes it a template", neighbourVM, image), func(r *run) { r.neighbour.pose(image) }}
	case 1:
		owner := model.Owner{Door: "vm", Set: set, Key: key("VMImage", image)}
		return event{0, neighbours, fmt.Sprintf("the neighbour writes the marker of %s of set %s onto VM %d", owner.Key, set, neighbourVM), func(r *run) { r.neighbour.forge(owner, image) }}
	}
	owner := model.Owner{Door: "vm", Set: set, Key: key("VirtualMachine", name)}
	return event{0, neighbours, fmt.Sprintf("the neighbour writes the marker of %s of set %s onto VM %d", owner.Key, set, neighbourVM), func(r *run) { r.neighbour.forge(owner, name) }}
}

func newNeighbour(r *run) *neighbour {
	c, err := pve.New(pve.Config{
		Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Token("mallory@pve!own", neighbourSecret), RoundTripper: r.newWire("mallory", false),
		Rand: func() float64 { return 0.5 }, Timeout: 10 * time.Minute,
	})
	if err != nil {
		panic(err)
	}
	return &neighbour{run: r, client: c, turn: make(chan struct{}, 1)}
}

// act does something to his VM, which nobody else may change.
func (n *neighbour) act(do func(path string) error) {
	n.run.troubles.Go(func() {
		n.turn <- struct{}{}
		defer func() { <-n.turn }()
		n.run.watch.release(neighbourVM)
		node := n.run.others.nodeOf(neighbourVM)
		if err := do(fmt.Sprintf("/nodes/%s/qemu/%d", node, neighbourVM)); err == nil {
			n.run.tells(neighbours)
		}
		n.run.watch.adopt(neighbourVM)
		n.run.later(time.Hour, n.relent)
	})
}

func (n *neighbour) call(method, path string, params pve.Params) error {
	var out any
	err := n.client.Call(n.run.lasting(), method, path, params, &out)
	if upid, ok := out.(string); ok && err == nil {
		n.run.taskEnds(upid)
	}
	return err
}

// pose makes his VM a template with the name of one that we use.
func (n *neighbour) pose(image string) {
	n.act(func(path string) error {
		if err := n.call(http.MethodPut, path+"/config", pve.Params{"name": image}); err != nil {
			return err
		}
		return n.call(http.MethodPost, path+"/template", nil)
	})
}

// forge writes the marker of an object onto his VM, with the tags that its true machine
// has, if there is one.
func (n *neighbour) forge(owner model.Owner, name string) {
	tags := model.Tag + ";" + model.StateTag(owner, "aaaaaaaa") // it has no secret part
	n.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[n.run.others.findIn(s, owner)]; vm != nil {
			tags = vm.Conf["tags"]
		}
	})
	n.act(func(path string) error {
		return n.call(http.MethodPut, path+"/config", pve.Params{
			"name": name, "description": model.Describe("", model.Marker{Owner: owner, VMID: neighbourVM}), "tags": tags,
		})
	})
}

// relent takes back what he has written.
func (n *neighbour) relent() {
	n.turn <- struct{}{}
	defer func() { <-n.turn }()
	n.run.watch.release(neighbourVM)
	path := fmt.Sprintf("/nodes/%s/qemu/%d/config", n.run.others.nodeOf(neighbourVM), neighbourVM)
	for range 30 { // his node may be away for minutes
		if n.call(http.MethodPut, path, pve.Params{"name": "mine", "description": "", "tags": ""}) == nil {
			break
		}
		time.Sleep(10 * time.Second)
	}
	n.run.watch.adopt(neighbourVM)
}

// used checks that a request of ours has nothing to do with the neighbour's VM.
func (n *neighbour) used(e *entry) {
	if e.write() && e.vmid() == neighbourVM {
		n.run.fail("a request uses or changes VM %d, which is the neighbour's: %s", neighbourVM, e)
	}
}

var neighbourSeeds = flag.Int("neighbour-seeds", 10, "how many seeds with a hostile neighbour")

func TestNeighbourHistories(t *testing.T) {
	for i := range *neighbourSeeds {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := drawHistory(seed)
			h.invite()
			if len(kept) > 0 {
				h = h.only(kept)
			}
			check(t, h)
		})
	}
}
