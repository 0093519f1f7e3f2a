package leftover

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// counting counts requests.
type counting struct {
	http.RoundTripper
	n int
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n++
	return c.RoundTripper.RoundTrip(r)
}

func TestAGuestIsReadAgainWhenItsConfigHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := pvesim.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		sim.Do(func(s *pvesim.State) {
			s.VMs[100] = &pvesim.VM{ID: 100, Node: "pve1", Conf: pvesim.Conf{"name": "web", "scsi0": "nfs:100/vm-100-disk-0.qcow2,size=1G"}}
		})
		tr, stop := sim.Transport()
		defer stop()
		counted := &counting{RoundTripper: tr}
		c, err := pve.New(pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "proxplane"), RoundTripper: counted})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Version(t.Context()); err != nil { // logs in
			t.Fatal(err)
		}
		const disk = "nfs:7/vm-7-disk-0.qcow2"
		var guests Guests
		look := func(reason string, requests int, want bool) {
			t.Helper()
			before := counted.n
			configs, err := guests.configsOf(t.Context(), c, pve.Resource{Node: "pve1", VMID: 100}, 5*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if got := named(disk, configs); got != want {
				t.Errorf("%s: it names the disk: %v", reason, got)
			}
			if n := counted.n - before; n != requests {
				t.Errorf("%s: %d requests instead of %d", reason, n, requests)
			}
		}
		look("at first", 3, false)
		look("right after that", 0, false)
		time.Sleep(6 * time.Second)
		look("later", 1, false)
		time.Sleep(6 * time.Second)
		sim.Do(func(s *pvesim.State) { s.VMs[100].Conf["scsi1"] = disk })
		look("when somebody has attached the disk", 3, true)
	})
}
