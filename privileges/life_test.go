package privileges

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// richWorld has guests of those that are wanted outside of their pools and with disks on other storages.
func richWorld(vms ...model.VM) *model.Observed {
	have := &model.Observed{Guests: map[int]*model.Guest{}, Nodes: map[string]*model.Node{"pve1": {}, "pve2": {}}, Storages: map[string]*model.Storage{}}
	for name, content := range map[string]string{"fast": "images", "slow": "images", "nfs": "iso", "files": "import"} {
		have.Storages[name] = &model.Storage{Name: name, Type: "dir", Content: map[string]bool{content: true}, Shared: true, OnNode: map[string]model.Room{"pve1": {}, "pve2": {}}}
	}
	for i, v := range vms {
		have.Guests[100+i] = &model.Guest{
			VMID: 100 + i, Node: "pve1", Pool: "old", Tags: []string{model.Tag, model.StateTag(v.Owner, "x")},
			Config: &model.Config{Options: map[string]string{}, Disks: []model.Disk{{Slot: "scsi1", Storage: "slow"}}, Marker: &model.Marker{Owner: v.Owner}},
		}
	}
	return have
}

// richSet wants something of everything.
func richSet() model.Desired {
	owner := func(kind, name string) model.Owner {
		return model.Owner{Door: "vm", Set: "all", Key: model.Key{Kind: kind, Name: name}}
	}
	share := model.Share{Owner: owner("", ""), Path: "/srv/data"}
	share.Owner.Key = model.ShareKey("data")
	apart := []model.Selector{{Key: "app", Operator: "In", Values: []string{"web"}}}
	blank := model.VM{
		Owner: owner("VirtualMachine", "blank"), Name: "blank", Source: model.Source{Blank: true}, Pool: "web", Retain: true,
		Disks: []model.Disk{{Slot: "scsi0", Storage: "fast", Size: 1 << 30}}, Range: model.DefaultRange,
		Seed: &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Snippets: []string{"user"}},
	}
	web := model.VM{
		Owner: owner("VirtualMachine", "web"), Name: "web", Source: model.Source{Image: model.Key{Kind: "VMImage", Name: "base"}}, Range: model.DefaultRange,
		HA: &model.HA{}, Labels: map[string]string{"app": "web"}, Place: model.Place{AntiAffinity: apart}, Firewall: &model.Firewall{}, Power: model.PowerOn,
		Seed: &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}, Disks: []model.Disk{{Slot: "scsi1", Storage: "fast", Size: 1 << 30}},
		Options: map[string]string{"virtiofs0": "dirid=data"}, Managed: []string{"virtiofs0"}, Shares: []string{"data"},
	}
	other, third := web, web
	other.Owner, other.Name = owner("VirtualMachine", "other"), "other"
	third.Owner, third.Name, third.HA, third.Place, third.Update = owner("VirtualMachine", "third"), "third", nil, model.Place{}, model.Allow{Move: true}
	third.Options, third.Managed, third.Shares = map[string]string{"cores": "2"}, nil, nil
	return model.Desired{
		Set: "all", VMs: []model.VM{blank, web, other, third}, Shares: []model.Share{share},
		Images:    []model.Image{{Owner: owner("VMImage", "base"), URL: "https://example.org/base.qcow2", Range: model.DefaultRange}, {Owner: owner("VMImage", "packed"), URL: "https://example.org/base.qcow2.xz", Range: model.DefaultRange}},
		Snapshots: []model.Snapshot{{Owner: owner("VMSnapshot", "s"), VM: web.Owner.Key, Name: "s", Revert: "1"}},
	}
}

// An action that plans can do and that no life has would need privileges that nobody is told of.
func TestEveryActionIsPartOfALife(t *testing.T) {
	// elsewhere are actions that aren't, with the reason.
	elsewhere := map[string]string{
		"RemoveDisk": "plans ask whether they may, and say so where they may not",
	}
	want := richSet()
	l := life{want: want, at: Facts{Release: 9, Have: richWorld(want.VMs[0], want.VMs[1]), Inside: []string{"Exec", "ReadFile"}}}
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
	if len(l.restless) > 0 {
		t.Errorf("plans come to no end for %v", l.restless)
	}
}
