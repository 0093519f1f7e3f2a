package privileges

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// An action that plans can do and that is part of no life would need privileges that nobody is told of.
func TestEveryActionIsPartOfALife(t *testing.T) {
	// elsewhere are actions that aren't, with the reason.
	elsewhere := map[string]string{
		"Detach":     "takes what Configure does, before a Destroy",
		"RemoveDisk": "plans ask whether they may, and say so where they may not",
	}
	owner := func(kind, name string) model.Owner {
		return model.Owner{Door: "vm", Key: model.Key{Kind: kind, Name: name}}
	}
	apart := []model.Selector{{Key: "app", Operator: "In", Values: []string{"web"}}}
	blank := model.VM{
		Owner: owner("VirtualMachine", "blank"), Source: model.Source{Blank: true}, Pool: "web", Retain: true,
		Disks: []model.Disk{{Slot: "scsi0", Storage: "fast", Size: 1 << 30}},
		Seed:  &model.Seed{Storage: "nfs", Snippets: []string{"user"}},
	}
	web := model.VM{
		Owner: owner("VirtualMachine", "web"), Source: model.Source{Image: model.Key{Kind: "VMImage", Name: "base"}},
		HA: &model.HA{}, Labels: map[string]string{"app": "web"}, Place: model.Place{AntiAffinity: apart}, Update: model.Allow{Move: true}, Firewall: &model.Firewall{},
		Seed: &model.Seed{Storage: "nfs"}, Disks: []model.Disk{{Slot: "scsi1", Storage: "fast", Size: 1 << 30}},
	}
	other := web
	other.Owner = owner("VirtualMachine", "other")
	want := model.Desired{
		VMs:       []model.VM{blank, web, other},
		Images:    []model.Image{{Owner: owner("VMImage", "base"), URL: "https://example.org/base.qcow2"}},
		Snapshots: []model.Snapshot{{Owner: owner("VMSnapshot", "s"), VM: web.Owner.Key, Name: "s", Revert: "1"}},
		Shares:    []model.Share{{Owner: model.Owner{Door: "vm", Key: model.ShareKey("data")}}},
	}
	there := func(id int, v model.VM) *model.Guest {
		return &model.Guest{
			VMID: id, Node: "pve1", Pool: "old", Tags: []string{model.Tag, model.StateTag(v.Owner, "x")},
			Config: &model.Config{Options: map[string]string{}, Disks: []model.Disk{{Slot: "scsi1", Storage: "slow"}}, Marker: &model.Marker{Owner: v.Owner}},
		}
	}
	have := &model.Observed{Guests: map[int]*model.Guest{100: there(100, blank), 101: there(101, web)}}
	l := life{want: want, at: Facts{Release: 9, Have: have}}
	l.all()
	done := map[string]bool{}
	for _, d := range l.deeds {
		done[model.FactsOf(d.action).Kind] = true
	}
	for _, kind := range model.Kinds() {
		if done[kind] == (elsewhere[kind] != "") {
			t.Errorf("%s: part of a life %v, and said to be elsewhere: %q", kind, done[kind], elsewhere[kind])
		}
	}
}
