package terraform

import "testing"

func TestDescriptionsNameAttributes(t *testing.T) {
	for text, want := range map[string]string{
		"MaxVMsPerNode is how many":                 "max_vms_per_node is how many",
		"Set updatePolicy.move: Allow for it.":      `Set update_policy.move = "Allow" for it.`,
		"as staticIP.fromPool says; cloud-init":     "as static_ip.from_pool says; cloud-init",
		"NoCloud, NotIn, VLAN, Machine: Proxmox'":   "NoCloud, NotIn, VLAN, Machine: Proxmox'",
		"The processor: a name, or \"host\". VMIDs": "The processor: a name, or \"host\". VMIDs",
	} {
		if got := ourWords(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
