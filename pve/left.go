package pve

import "regexp"

var leftDisk = regexp.MustCompile(`^Could not remove disk '([^']+)', check manually`)

// LeftDisks are the disks that a task couldn't remove though it removed their VM, by its
// warnings. Nothing else names them any more.
func LeftDisks(warnings []string) []string {
	var volumes []string
	for _, w := range warnings {
		if m := leftDisk.FindStringSubmatch(w); m != nil {
			volumes = append(volumes, m[1])
		}
	}
	return volumes
}
