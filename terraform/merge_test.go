package terraform

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// wantsImage is a resource that wants an image, made from a template.
func wantsImage(template string) model.Desired {
	return model.Desired{Images: []model.Image{{Owner: model.Owner{Key: model.Key{Kind: "VMImage", Name: "x"}}, Template: template}}}
}

func TestAnImageIsWantedByItsOwnResource(t *testing.T) {
	own, machine, manifest := model.Key{Kind: "VMImage", Name: "x"}, model.Key{Kind: "VirtualMachine", Name: "a"}, model.Key{Kind: "Manifest", Name: "all"}
	for range 20 { // maps have another order each time
		all := merged(map[model.Key]model.Desired{machine: wantsImage("theirs"), own: wantsImage("own"), manifest: wantsImage("described")})
		if len(all.Images) != 1 || all.Images[0].Template != "own" {
			t.Fatalf("wanted is %+v", all.Images)
		}
	}
	if all := merged(map[model.Key]model.Desired{machine: wantsImage("theirs"), manifest: wantsImage("described")}); all.Images[0].Template != "described" {
		t.Errorf("wanted is %+v", all.Images)
	}
}

func TestAnImageIsSaidInOneWay(t *testing.T) {
	own, machine := model.Key{Kind: "VMImage", Name: "x"}, part{key: model.Key{Kind: "VirtualMachine", Name: "a"}}
	for _, c := range []struct {
		reason, template string
		said             bool
		want             string
	}{
		{"both say the same", "debian", true, ""},
		{"both configurations say so", "ubuntu", true, "proxplane_image x says something else"},
		{"a state is of before, and is about to change", "ubuntu", false, ""},
	} {
		d := newDoor(config{}, nil)
		d.planned[own] = wanting{want: wantsImage("debian"), said: c.said}
		machine.wanted.Desired = wantsImage(c.template)
		machine.wanted.Desired.Images[0].Used = true
		got := ""
		for _, e := range d.disputed(machine) {
			got += e.Detail()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}
