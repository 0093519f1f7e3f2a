package terraform

import (
	"context"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

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

func TestMessagesNameAttributes(t *testing.T) {
	for text, want := range map[string]string{
		"powerState is Off":                         "power_state is Off",
		"userData.delivery (fwcfg), filesystems[0]": "user_data.delivery (fwcfg), filesystems[0]",
		`want a name, have "onBoot"`:                `want a name, have "onBoot"`,
		"local:snippets/onBoot.sh isn't there":      "local:snippets/onBoot.sh isn't there",
	} {
		if got := attributesIn(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Readers of the registry's pages know neither the objects of manifests nor the other doors.
func TestDescriptionsSayNothingAboutOtherDoors(t *testing.T) {
	server, err := providerserver.NewProtocol6WithError(New("dev")())()
	if err != nil {
		t.Fatal(err)
	}
	all, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`Kubernetes|Provider\b|VMClass|VMImage|VirtualMachine|command line|spec\.|namespace`)
	var look func(at string, list []*tfprotov6.SchemaAttribute)
	look = func(at string, list []*tfprotov6.SchemaAttribute) {
		for _, a := range list {
			if word := foreign.FindString(a.Description); word != "" {
				t.Errorf("%s.%s speaks of %s: %s", at, a.Name, word, a.Description)
			}
			if a.NestedType != nil {
				look(at+"."+a.Name, a.NestedType.Attributes)
			}
		}
	}
	for name, s := range all.ResourceSchemas {
		look(name, s.Block.Attributes)
	}
	look("provider", all.Provider.Block.Attributes)
}
