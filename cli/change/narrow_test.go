package change

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/proxplane/proxplane/model"
)

func TestASelectionKeepsWhatBelongsTogether(t *testing.T) {
	key := func(name string) model.Key { return model.Key{Kind: "VirtualMachine", Name: name} }
	vm := func(name, app, image string) model.VM {
		v := model.VM{Owner: model.Owner{Key: key(name)}, Labels: map[string]string{"app": app}, Source: model.Source{Image: model.Key{Kind: "VMImage", Name: image}}}
		return v
	}
	apart := []model.Selector{{Key: "tier", Operator: "Exists"}}
	web1, web2, db, copied := vm("web-1", "web", "debian"), vm("web-2", "other", "debian"), vm("db", "db", "rocky"), vm("copy", "web", "")
	web1.Labels["tier"], web2.Labels["tier"] = "front", "front"
	web1.Place.AntiAffinity = apart
	copied.Source = model.Source{VM: key("db")}
	want := model.Desired{
		VMs:       []model.VM{web1, web2, db, copied},
		Images:    []model.Image{{Owner: model.Owner{Key: model.Key{Kind: "VMImage", Name: "debian"}}}, {Owner: model.Owner{Key: model.Key{Kind: "VMImage", Name: "rocky"}}}},
		Snapshots: []model.Snapshot{{VM: key("web-1")}, {VM: key("db")}},
	}
	for _, c := range []struct {
		reason, selector           string
		vms, along, images, states []string
	}{
		{"machines that must be kept apart are planned together", "app=web,tier", []string{"web-1", "web-2"}, []string{"web-2"}, []string{"debian"}, []string{"web-1"}},
		{"a copy needs its source", "app=web,!tier", []string{"db", "copy"}, []string{"db"}, []string{"rocky"}, []string{"db"}},
		{"what nobody needs stays out", "app in (db)", []string{"db"}, nil, []string{"rocky"}, []string{"db"}},
	} {
		sel, err := labels.Parse(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		d := want
		along, err := narrow(&d, sel)
		if err != nil {
			t.Fatal(err)
		}
		var vms, images, states []string
		for _, v := range d.VMs {
			vms = append(vms, v.Owner.Name)
		}
		for _, i := range d.Images {
			images = append(images, i.Owner.Name)
		}
		for _, s := range d.Snapshots {
			states = append(states, s.VM.Name)
		}
		if !slices.Equal(vms, c.vms) || !slices.Equal(along, c.along) || !slices.Equal(images, c.images) || !slices.Equal(states, c.states) {
			t.Errorf("%s: %v, with %v, images %v, snapshots of %v", c.reason, vms, along, images, states)
		}
	}
	if len(want.VMs) != 4 || len(want.Images) != 2 {
		t.Errorf("what was given has changed: %v", want)
	}
	sel, _ := labels.Parse("app=nobody")
	if _, err := narrow(&want, sel); err == nil {
		t.Error("nothing was selected, and nobody is told")
	}
}
