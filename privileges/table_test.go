package privileges

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

// valueDependent options are checked by what they are set to: see device.go.
var valueDependent = regexp.MustCompile(`^(unused|serial|usb|hostpci|virtiofs|ide|sata|scsi|virtio|efidisk|tpmstate)\d+$|^(cdrom|tags|vmstate)$`)

// notOptions are parameters of the call beside options.
var notOptions = strings.Fields("node vmid delete revert force digest skiplock background_delay import-working-storage skip_cloud_init")

// The simulator is asked to delete each option of a guest, as somebody who may do
// something else: what it says is missing must be what the table says.
func TestTheTableSaysWhatProxmoxAsksFor(t *testing.T) {
	for _, release := range schema.Releases() {
		client := somebody(t, release, "VM.Audit", "VM.Console", "VM.Config.HWType")
		other := somebody(t, release, "VM.Audit", "VM.Config.Memory")
		s, err := schema.Load(release)
		if err != nil {
			t.Fatal(err)
		}
		for name := range s.Lookup("PUT", "/nodes/{node}/qemu/{vmid}/config").Params {
			key := strings.Replace(name, "[n]", "0", 1)
			if slices.Contains(notOptions, key) || valueDependent.MatchString(key) {
				continue
			}
			want := slices.Sorted(slices.Values(tableSays(key)))
			got := asked(t, client, key)
			if len(got) == 0 {
				got = asked(t, other, key)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: option %s takes %v, and the table says %v", release, key, got, want)
			}
		}
	}
}

// tableSays are the privileges for an option, one of which is enough.
func tableSays(key string) []string {
	if isCloudInit(key) {
		return cloudInitPrivs
	}
	if priv, ok := optionPrivs[family(key)]; ok {
		return []string{priv}
	}
	return []string{"root"}
}

// somebody is a user with a few privileges on VM 100.
func somebody(t *testing.T, release string, privileges ...string) *pve.Client {
	t.Helper()
	w := &pvesim.World{
		Release: release,
		Users:   []pvesim.WorldUser{{ID: "ann@pve", Tokens: []pvesim.WorldToken{{Name: "ci", Secret: "12345678-1234-1234-1234-123456789abc"}}}},
		Roles:   []pvesim.WorldRole{{Name: "some", Privs: privileges}},
		ACL:     []pvesim.WorldACL{{Path: "/vms/100", Role: "some", User: "ann@pve"}},
		Guests:  []pvesim.WorldGuest{{ID: 100, Node: "pve1"}},
	}
	sim, err := pvesim.New(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	return kit.Dial(t, sim, pve.Token("ann@pve!ci", "12345678-1234-1234-1234-123456789abc"))
}

// asked are the privileges that Proxmox misses when an option is deleted.
func asked(t *testing.T, client *pve.Client, key string) []string {
	t.Helper()
	err := client.VM("pve1", 100).SetConfig(context.Background(), pve.ConfigChange{Delete: []string{key}})
	var e *pve.Error
	switch {
	case errors.Is(err, pve.ErrRootOnly):
		return []string{"root"}
	case errors.Is(err, pve.ErrForbidden) && errors.As(err, &e):
		return slices.Sorted(slices.Values(e.Privs))
	case err != nil:
		t.Errorf("delete %s: %v", key, err)
	}
	return nil
}
