package terraform_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// replaced are the attributes because of which Terraform would destroy a resource and make it anew.
func (c *client) replaced(of resourceState, config values) ([]*tftypes.AttributePath, said) {
	c.Helper()
	s, out := c.plan(of, config)
	return s.replace, out
}

// madeOf plans and applies a resource of any kind.
func (c *client) madeOf(kind string, config values) resourceState {
	c.Helper()
	s, said := c.plan(c.none(kind), config)
	if said.failed {
		c.Fatal(said)
	}
	of, said := c.apply(s)
	if said.failed {
		c.Fatal(said)
	}
	return of
}

// changed plans and applies a change that isn't a replacement, after which nothing is left to do.
func (c *client) changed(of resourceState, config values) resourceState {
	c.Helper()
	s, said := c.plan(of, config)
	if said.failed || len(s.replace) > 0 {
		c.Fatal(s.replace, said)
	}
	c.connect(c.login()) // another process
	if of, said = c.apply(s); said.failed {
		c.Fatal(said)
	}
	c.connect(c.login())
	if of, said = c.read(of); said.failed {
		c.Fatal(said)
	}
	if s, said = c.plan(of, config); said.failed || c.changes(s) {
		c.Errorf("a second plan isn't empty: %s", said)
	}
	return of
}

// The name of some manifests is a label: with another one their machines stay.
func TestManifestsWithAnotherNameKeepTheirMachines(t *testing.T) {
	c := start(t)
	config := values{"name": "all", "yaml": `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec: {classRef: {name: small}, imageRef: {name: ubuntu}}
`}
	of := c.madeOf("proxplane_manifest", config)
	was := c.life("web")
	config["name"] = "everything"
	of = c.changed(of, config)
	if now := c.life("web"); now != was || c.text(of, "id") != "shop/everything" {
		t.Errorf("web was %v and is %v; the resource is %s", was, now, c.text(of, "id"))
	}
}

// A machine that is called as one of several by now stays, and so does one that was one of several.
func TestAMachineBecomesOneOfSeveralAndBack(t *testing.T) {
	c := start(t)
	one := small("web-1")
	of := c.made(one)
	was := c.life("web-1")
	several := small("web")
	several["replicas"] = 2
	of = c.changed(of, several)
	if now := c.life("web-1"); now != was {
		t.Errorf("web-1 was %v and is %v", was, now)
	}
	if _, said := c.plan(of, one); !said.failed || !strings.Contains(said.text, "With that number of replicas web-2 would be destroyed, with all disks: set update_policy.scale_down") {
		t.Errorf("it says %s", said)
	}
	one["update_policy"] = values{"scale_down": "Allow"}
	c.changed(of, one)
	if now := c.life("web-1"); now != was || c.conf("web-2") != nil {
		t.Errorf("web-1 was %v and is %v; web-2 is %v", was, now, c.conf("web-2"))
	}
}

// Who goes from several machines to one agrees that they go.
func TestSeveralMachinesBecomeOne(t *testing.T) {
	c := start(t)
	config := small("web")
	config["replicas"] = 2
	of := c.made(config)
	delete(config, "replicas")
	if _, said := c.plan(of, config); !said.failed || !strings.Contains(said.text, "web-1, web-2 would be destroyed, with all disks: set update_policy.scale_down") {
		t.Errorf("it says %s", said)
	}
	config["update_policy"] = values{"scale_down": "Allow"}
	c.changed(of, config)
	for name, want := range map[string]bool{"web": true, "web-1": false, "web-2": false} {
		if there := c.conf(name) != nil; there != want {
			t.Errorf("%s is there: %v", name, there)
		}
	}
}

// A name that isn't known yet may be the same. Nothing is destroyed on the chance that it isn't.
func TestANameThatIsNotKnownYetReplacesNothingUnasked(t *testing.T) {
	c := start(t)
	config := small("web")
	of := c.made(config)
	with := func(more values) values {
		all := maps.Clone(config)
		maps.Copy(all, more)
		return all
	}
	if at, said := c.replaced(of, with(values{"name": unknown{}})); said.failed || len(at) > 0 {
		t.Errorf("it is replaced because of %v: %s", at, said)
	}
	if at, said := c.replaced(of, with(values{"name": unknown{}, "update_policy": values{"replace": "Allow"}})); said.failed || fmt.Sprint(at) != `[AttributeName("name")]` {
		t.Errorf("it is replaced because of %v: %s", at, said)
	}
	// Another name, beside something that isn't known.
	if _, said := c.replaced(of, with(values{"name": "front", "description": unknown{}})); !said.failed || !strings.Contains(said.text, "web would be destroyed, with all disks, to make front: set update_policy.replace") {
		t.Errorf("it says %s", said)
	}
	if at, said := c.replaced(of, with(values{"description": unknown{}})); said.failed || len(at) > 0 || !strings.Contains(said.text, "Not all is known yet") {
		t.Errorf("it is replaced because of %v: %s", at, said)
	}
}

// A resource that gets another address without a moved block is destroyed by one and wanted by the other, also if not all of the other
// is known yet.
func TestWhatIsNotKnownYetIsClaimedByItsName(t *testing.T) {
	const kind = "proxplane_virtual_machine"
	for name, config := range map[string]values{
		"one":     {"name": "web", "class": values{"cpus": 1, "memory": "1Gi"}, "description": unknown{}},
		"several": {"name": "web", "replicas": 2, "class": values{"cpus": 1, "memory": "1Gi"}, "description": unknown{}},
		"or more": {"name": "web", "replicas": unknown{}, "class": values{"cpus": 1, "memory": "1Gi"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			was := small("web")
			if name != "one" {
				was["replicas"] = 2
			}
			of := c.made(was)
			c.connect(c.login())
			null := packed(c, c.types[kind], tftypes.NewValue(c.types[kind], nil))
			if _, err := c.server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: kind, PriorState: packed(c, c.types[kind], of.state), PriorPrivate: of.private, ProposedNewState: null, Config: null}); err != nil {
				t.Fatal(err)
			}
			if _, said := c.planBeside(c.none(kind), config); !said.failed || !strings.Contains(said.text, "web is destroyed by one resource and wanted by another") {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// A snapshot stays if its machine isn't known before something else is done.
func TestASnapshotOfAMachineThatIsNotKnownYetStays(t *testing.T) {
	c := start(t)
	machine := c.made(small("web"))
	vmid := c.vmids(machine.state)[0]
	config := values{"name": "before-upgrade", "vmid": vmid}
	of := c.madeOf("proxplane_snapshot", config)
	if at, said := c.replaced(of, values{"name": "before-upgrade", "vmid": unknown{}}); said.failed || len(at) > 0 {
		t.Errorf("it is replaced because of %v: %s", at, said)
	}
	c.changed(of, config)
	if at, said := c.replaced(of, values{"name": "before-upgrade", "vmid": vmid + 1}); len(at) == 0 {
		t.Errorf("another machine's isn't another one: %s", said)
	}
}

// Machines on nodes that the cluster doesn't have are on another cluster: they aren't gone.
func TestAnotherClusterHasOthersNodes(t *testing.T) {
	c := start(t)
	of := c.made(small("web"))
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	for i := range w.Nodes {
		w.Nodes[i].Name = strings.Replace(w.Nodes[i].Name, "pve", "other", 1)
	}
	w.Guests = nil
	other, err := sim.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
	})
	block := c.login()
	block["endpoint"] = other.Endpoint
	c.connect(block)
	if now, said := c.read(of); !said.failed || now.state.IsNull() || !strings.Contains(said.text, "web isn't in this cluster") {
		t.Errorf("it says %q", said)
	}
}
