package status

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// A diff shows all that a plan changes of a guest's settings.
func TestADiffShowsWhatEachActionChanges(t *testing.T) {
	at := model.Target{VMID: 100, Node: "pve1"}
	guest := func() *model.Guest {
		return &model.Guest{
			VMID: 100, Name: "web", Node: "pve1", Status: model.StatusRunning, Pool: "a", Tags: []string{"blue"},
			Config: &model.Config{
				Options: map[string]string{"cores": "2"}, Tags: []string{"blue"}, Text: "old text",
				Disks: []model.Disk{{Slot: "scsi0", Volume: "local:vm-100-disk-0", Storage: "local", Size: 1 << 30}},
			},
		}
	}
	text, none := model.Describe("new text", model.Marker{Owner: model.Owner{Key: model.Key{Name: "web"}}}), []string{}
	for _, c := range []struct {
		action model.Action
		want   []string
	}{
		{model.Migrate{Target: at, To: "pve2"}, []string{"-node: pve1", "+node: pve2"}},
		{model.MoveDisk{Target: at, Slot: "scsi0", From: "local:vm-100-disk-0", Storage: "fast"}, []string{"-scsi0: 1 GiB,local:vm-100-disk-0", "+scsi0: 1 GiB,on fast"}},
		{model.Configure{Target: at, Description: &text}, []string{"-description: old text", "+description: new text"}},
		{model.Configure{Target: at, Set: map[string]string{"cores": "4"}, Tags: &none}, []string{"-cores: 2", "+cores: 4", "-tags: blue"}},
		{model.Release{Target: at, Description: "", Tags: []string{"blue"}}, []string{"-description: old text"}},
		{model.Detach{Target: at, Options: []string{"cores"}}, []string{"-cores: 2"}},
		{model.Resize{Target: at, Slot: "scsi0", Size: 2 << 30}, []string{"-scsi0: 1 GiB,local:vm-100-disk-0", "+scsi0: 2 GiB,local:vm-100-disk-0"}},
		{model.SetPool{VMID: 100, From: "a"}, []string{"-pool: a"}},
		{model.Stop{Target: at}, []string{"-state: running", "+state: stopped"}},
		{model.Snap{Target: at, Name: "s"}, nil},
	} {
		if got := Diff(plan.Object{Steps: []plan.Step{{Action: c.action}}}, guest()); !slices.Equal(got, c.want) {
			t.Errorf("%T: %q, and not %q", c.action, got, c.want)
		}
	}
}
