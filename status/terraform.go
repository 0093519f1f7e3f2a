package status

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// terraformConsents are what agrees to a step that was refused, as attributes of a resource.
var terraformConsents = map[model.Do]string{
	model.AllowRestart:   `update_policy.restart = "Allow"`,
	model.AllowReplace:   `update_policy.replace = "Allow"`,
	model.AllowDataLoss:  `update_policy.remove_disks = "Allow"`,
	model.AllowStop:      `update_policy.stop = "Allow"`,
	model.AllowMove:      `update_policy.move = "Allow"`,
	model.AllowScaleDown: `update_policy.scale_down = "Allow"`,
	model.AllowDelete:    `protection = false`,
	model.AllowLate:      "another look at the plan",
}

// terraformAdvice is what a person can do, where manifests, Providers and Secrets aren't what they write.
var terraformAdvice = map[model.Do]func(model.Advice) string{
	model.NameVMID: func(a model.Advice) string {
		return fmt.Sprintf("if it is, say vmid = %d, else remove the marker from its notes", a.VMID)
	},
	model.ProveGuest: func(a model.Advice) string {
		return fmt.Sprintf("if it is this machine, put the proof back by an import: say vmid = %d, take the resource out of the state (tofu state rm ADDRESS), and add an import block with id = \"%d\"", a.VMID, a.VMID)
	},
	model.ImportGuest: func(a model.Advice) string {
		return fmt.Sprintf("choose another VMID, or adopt it with an import block: id = \"%d\"", a.VMID)
	},
	model.CheckBridge:   same("correct the bridge; proxplane describe node/NAME shows which there are"),
	model.AllowCopies:   same(`let the image be copied to other nodes with image.copies = "auto", or make a template of the same name there`),
	model.MakeDirectory: same("make the directory on the node (mkdir -p), or have placement name the nodes that have it"),
	model.TrustCA:       same("have Proxmox' CA trusted: ca in the provider's block is a copy of /etc/pve/pve-root-ca.pem, fingerprint the certificate's"),
}
