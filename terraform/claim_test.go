package terraform_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// Machines are known by their names, so two resources of one name would be one machine.
func TestTwoResourcesAreNotOneMachine(t *testing.T) {
	c := start(t)
	const kind = "proxplane_virtual_machine"
	vm := func(name string, replicas int) values {
		v := small(name)
		if replicas > 0 {
			v["replicas"] = replicas
		}
		return v
	}
	for name, others := range map[string][]values{"web": {vm("web", 0), vm("web", 3)}, "web-2": {vm("web-2", 0), vm("web", 2)}} {
		for i := range others {
			if _, said := c.plan(c.none(kind), others[i]); said.failed {
				t.Fatal(said)
			}
			if _, said := c.planBeside(c.none(kind), others[1-i]); !said.failed || !strings.Contains(said.text, "Two resources are "+name) {
				t.Errorf("want two of %s, have %s", name, said)
			}
		}
	}
	if _, said := c.plan(c.none(kind), vm("web", 0)); said.failed {
		t.Fatal(said)
	}
	if _, said := c.planBeside(c.none(kind), vm("db", 0)); said.failed {
		t.Error(said)
	}
}

// Another name is another machine: that the present one is destroyed takes consent.
func TestAnotherNameTakesConsent(t *testing.T) {
	c := start(t)
	config := small("web")
	of := c.made(config)
	config["name"] = "front"
	if _, said := c.plan(of, config); !said.failed || !strings.Contains(said.text, "web would be destroyed, with all disks, to make front: set update_policy.replace") || !strings.Contains(said.text, "with -refresh=false it doesn't") {
		t.Error(said)
	}
	config["update_policy"] = values{"replace": "Allow"}
	if _, said := c.plan(of, config); said.failed {
		t.Error(said)
	}
}

// Replicas have names of their own: who goes from one machine to several agrees that the one goes.
func TestOneMachineBecomesSeveral(t *testing.T) {
	c := start(t)
	config := small("web")
	of := c.made(config)
	config["replicas"] = 2
	if _, said := c.plan(of, config); !said.failed || !strings.Contains(said.text, "web would be destroyed, with all disks: set update_policy.scale_down") || strings.Contains(said.text, "another") {
		t.Error(said)
	}
	config["update_policy"] = values{"scale_down": "Allow"}
	s, said := c.plan(of, config)
	if said.failed {
		t.Fatal(said)
	}
	if _, said = c.apply(s); said.failed {
		t.Fatal(said)
	}
	c.sim.Do(func(st *pvesim.State) {
		for name, want := range map[string]bool{"web": false, "web-1": true, "web-2": true} {
			if there := sim.VM(st, name) != nil; there != want {
				t.Errorf("%s is there: %v", name, there)
			}
		}
	})
}

// With another set, what a state has would be taken for gone, and stay in Proxmox.
func TestAnotherSetTakesNothingForGone(t *testing.T) {
	c := start(t)
	of := c.made(small("web"))
	block := c.login()
	block["set"] = "other"
	c.connect(block)
	const want = `The state has web of set shop, and the provider's block says set = "other"`
	if _, said := c.read(of); !said.failed || !strings.Contains(said.text, want) {
		t.Error(said)
	}
	// With -refresh=false it isn't read.
	if _, said := c.plan(of, small("web")); !said.failed || !strings.Contains(said.text, want) {
		t.Errorf("it would be made twice: %s", said)
	}
	if said := c.refusedToDelete(of); !strings.Contains(said.text, want) {
		t.Errorf("it would be forgotten: %s", said)
	}
}

// Where machines without a state are refused, what a resource has itself can be made anew.
func TestARefusalOfExistingMachinesAllowsAReplacement(t *testing.T) {
	c := start(t)
	block := c.login()
	block["existing"] = "Refuse"
	c.connect(block)
	config := small("web")
	of := c.made(config)
	s, said := c.plan(of, config)
	if said.failed {
		t.Fatal(said)
	}
	anew := c.none("proxplane_virtual_machine")
	anew.private = s.private // which Terraform hands on when it plans the replacement
	if _, said = c.planBeside(anew, config); said.failed {
		t.Error(said)
	}
	if _, said = c.plan(c.none("proxplane_virtual_machine"), config); !said.failed || !strings.Contains(said.text, "web is there already") {
		t.Errorf("without a state it is taken: %s", said)
	}
}

// A machine that stays when its resource is destroyed can't be replaced: there would be two of it.
func TestAMachineThatIsRetainedIsNotReplaced(t *testing.T) {
	c := start(t)
	const kind = "proxplane_virtual_machine"
	config := small("web")
	config["deletion_policy"] = "Retain"
	of := c.made(config)
	for _, policy := range []string{"Retain", "Delete"} { // what counts is what was applied
		config["deletion_policy"] = policy
		s, said := c.plan(of, config)
		if said.failed {
			t.Fatal(said)
		}
		anew := c.none(kind)
		anew.private = s.private // which Terraform hands on when it plans the replacement
		if _, said = c.planBeside(anew, config); !said.failed || !strings.Contains(said.text, "web can't be replaced: deletion_policy is Retain") {
			t.Errorf("%s: it is replaced: %s", policy, said)
		}
		c.connect(c.login())
		if _, said = c.read(of); said.failed {
			t.Fatal(said)
		}
		if _, said = c.planBeside(c.none(kind), config); !said.failed || !strings.Contains(said.text, "web can't be replaced") { // of what is tainted, the prior state is null
			t.Errorf("%s: it is replaced when it is tainted: %s", policy, said)
		}
	}
	s, said := c.plan(of, config)
	if said.failed {
		t.Fatal(said)
	}
	if of, said = c.apply(s); said.failed {
		t.Fatal(said)
	}
	if s, said = c.plan(of, config); said.failed {
		t.Fatal(said)
	}
	anew := c.none(kind)
	anew.private = s.private
	if _, said = c.planBeside(anew, config); said.failed {
		t.Error(said)
	}
}
