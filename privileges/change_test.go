package privileges_test

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
)

func TestAChangeNeedsWhatItsOptionsNeed(t *testing.T) {
	text, tags := "", []string{}
	for _, c := range []struct {
		reason string
		action model.Action
		want   []string
	}{
		{"memory alone", model.Configure{Set: map[string]string{"memory": "4096"}}, []string{"VM.Config.Memory"}},
		{"memory with our marker", model.Configure{Set: map[string]string{"memory": "4096"}, Description: &text, Tags: &tags}, []string{"VM.Config.Memory", "VM.Config.Options"}},
		{"one of two is enough for cloud-init", model.Configure{Set: map[string]string{"ciuser": "me"}}, []string{"VM.Config.Cloudinit"}},
		{"an interface, and so is its address then", model.Configure{Set: map[string]string{"ipconfig0": "ip=dhcp"}, NICs: []model.NIC{{Slot: "net0", Bridge: "vmbr0"}}}, []string{"VM.Config.Network"}},
		{"a disk that goes", model.Configure{Delete: []string{"scsi1"}}, []string{"VM.Config.Disk"}},
		{"letting go", model.Release{}, []string{"VM.Config.Options"}},
		{"not a change of the config", model.Start{}, nil},
	} {
		if got := privileges.OnGuest(c.action); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.reason, got, c.want)
		}
	}
}

func TestTheLeastOfSeveralIsAsked(t *testing.T) {
	if got := privileges.Least("/storage/x", []string{"Datastore.Allocate", "Datastore.AllocateSpace", "Datastore.Audit"}); got != "Datastore.Audit" {
		t.Errorf("got %s", got)
	}
}
