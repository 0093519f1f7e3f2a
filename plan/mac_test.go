package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// A copy of a guest, or a restored backup of it, has its MAC address: the two may not
// run at once.
func TestAGuestIsNotStartedWhileAnotherRunsWithItsMACAddress(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.NICs = []model.NIC{{Slot: "net0", Model: "virtio", MAC: "02:00:00:AA:BB:CC", Bridge: "vmbr0"}}
	converge(t, w, desired(v))
	var ours *model.Guest
	for _, g := range w.Guests {
		if !g.Template {
			ours = g
		}
	}
	other := *ours
	config := *ours.Config
	config.Marker, config.Tags = nil, nil
	other.VMID, other.Config, other.Tags, other.Name = 123, &config, nil, "restored"
	w.Guests[123] = &other
	for _, c := range []struct {
		status model.Status
		mac    string
		waits  bool
		reason string
	}{
		{model.StatusRunning, "02:00:00:aa:bb:cc", true, "both would answer for the same address"},
		{model.StatusStopped, "02:00:00:AA:BB:CC", false, "one that doesn't run disturbs nobody"},
		{model.StatusRunning, "02:00:00:AA:BB:CD", false, "it has another one"},
	} {
		ours.Status, other.Status = model.StatusStopped, c.status
		config.NICs = []model.NIC{{Slot: "net0", Model: "virtio", MAC: c.mac, Bridge: "vmbr0"}}
		o := For(desired(v), w.observe(Look{Configs: []int{ours.VMID, 123}, Status: []int{ours.VMID, 123}})).Objects[2]
		waits := o.Wait != nil && o.Wait.Reason == model.WaitForeign && strings.Contains(o.Wait.Text, "VM 123")
		starts := len(o.Steps) == 1
		if waits != c.waits || starts == c.waits {
			t.Errorf("%s: %s", c.reason, o)
		}
	}
}
