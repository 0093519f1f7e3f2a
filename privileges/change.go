package privileges

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Least returns the least powerful of several privileges, one of which is enough.
func Least(path string, privs []string) string {
	return slices.MinFunc(privs, func(a, b string) int { return weight(claim{path, a}) - weight(claim{path, b}) })
}

// OnGuest returns the privileges that an action needs on the guest whose config it changes.
// If the caller has none of them, Proxmox' refusal lists all config privileges; which are
// needed depends on the options that change. nil: it isn't such an action.
func OnGuest(action model.Action) []string {
	const guest = "guest"
	change, ok := changeOf(action)
	if !ok || model.FactsOf(action).Proof != model.ProofDigest {
		return nil
	}
	d := deed{action: withoutDrives(change), guest: guest}
	b := &book{}
	b.configuring(call{on: map[string]string{"vmid": guest}, deed: d})
	if c, ok := action.(model.Configure); ok && slices.ContainsFunc(c.Delete, isDrive) {
		b.all("", guest, drivePrivs[disk]...)
	}
	var out []string
	for c := range solve(b.needs) {
		if c.path == guest {
			out = append(out, c.priv)
		}
	}
	return sortedOnce(out)
}

// withoutDrives leaves out the removal of drives: it depends on what they hold.
func withoutDrives(c model.Configure) model.Configure {
	c.Delete = slices.DeleteFunc(slices.Clone(c.Delete), isDrive)
	return c
}

// isDrive reports whether an option is a drive.
func isDrive(key string) bool {
	return slices.Contains([]string{"scsi[n]", "virtio[n]", "sata[n]", "ide[n]", "efidisk[n]", "tpmstate[n]", "unused[n]"}, family(key))
}
