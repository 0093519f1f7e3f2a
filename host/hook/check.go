//go:build linux

package hook

import "fmt"

// Check returns what would be done before the start of a VM. The error has what would be
// refused. Nothing is changed, so errors of the steps themselves aren't found.
func (h *Host) Check(vmid int) ([]string, error) {
	j, err := h.job(vmid, PreStart)
	var plan []string
	for _, s := range j.steps {
		switch {
		case s.ignition != nil:
			for _, file := range s.ignition.files {
				plan = append(plan, fmt.Sprintf("put the Ignition file from %s at %s", s.ignition.volume, file))
			}
		case s.shares != nil:
			for _, share := range s.shares {
				how := ""
				if share.ReadOnly {
					how = " read-only"
				}
				plan = append(plan, fmt.Sprintf("share %s%s at %s", share.Path, how, share.Socket))
			}
		default:
			plan = append(plan, "run "+s.script)
		}
	}
	return plan, err
}
