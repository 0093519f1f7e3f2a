package act

import "testing"

func TestOnlyFilesThatWeMadeForAGuestAreRemoved(t *testing.T) {
	for _, c := range []struct {
		reason, name string
		vmid         int
		want         bool
	}{
		{"first-boot data of the guest", "iso/proxplane-100-0123456789ab.iso", 100, true},
		{"those of another guest", "iso/proxplane-101-0123456789ab.iso", 100, false},
		{"somebody's ISO image", "iso/debian.iso", 100, false},
		{"an ISO image that is only called so", "iso/proxplane-100-debian.iso", 100, false},
		{"first-boot data in another folder", "snippets/proxplane-100-0123456789ab.iso", 100, false},
		{"first-boot data without a folder", "proxplane-100-0123456789ab.iso", 100, false},
		{"a path that leads elsewhere", "iso/../snippets/proxplane-100-0123456789ab.iso", 100, false},
		{"a snippet of the guest", "snippets/proxplane-100-0123456789ab-user.yaml", 100, true},
		{"a snippet of another guest", "snippets/proxplane-101-0123456789ab-user.yaml", 100, false},
		{"the hook", "snippets/proxplane-hook.pl", 100, false},
		{"a snippet of another kind", "snippets/proxplane-100-0123456789ab-vendor.yaml", 100, false},
		{"an image that was fetched", "import/proxplane-abc234-def567.qcow2", 0, true},
		{"an image that somebody has put there", "import/debian.qcow2", 0, false},
		{"a disk", "100/vm-100-disk-0.qcow2", 100, false},
		{"nothing", "", 100, false},
	} {
		if got := made(c.name, c.vmid); got != c.want {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}
