package engine

import (
	"errors"
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// ErrSameKey means that two objects of one caller have the same kind, namespace and name. Use an engine, or
// a site, for each set.
var ErrSameKey = errors.New("this caller wants an object of that name for another owner, too")

// distinct returns an error if two objects have one key: one of them would be dropped silently.
func distinct(want model.Desired) error {
	seen := make(map[model.Key]bool, len(want.VMs)+len(want.Images)+len(want.Snapshots))
	add := func(o model.Owner) error {
		if seen[o.Key] {
			return fmt.Errorf("%s: %w", o.Key, ErrSameKey)
		}
		seen[o.Key] = true
		return nil
	}
	var wrong []error
	for _, v := range want.VMs {
		wrong = append(wrong, add(v.Owner))
	}
	for _, i := range want.Images {
		wrong = append(wrong, add(i.Owner))
	}
	for _, s := range want.Snapshots {
		wrong = append(wrong, add(s.Owner))
	}
	return errors.Join(wrong...)
}
