package terraform

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// doors are the front doors that a machine can be from.
var doors = []string{"vm", "karpenter", "machines", "cluster", Door}

// guestCalled finds the guest that an import names: by its VMID, by its name in Proxmox, or by its
// owner, which is the set and the name (shop/web), with the namespace between them for machines of a
// Kubernetes, and with the door before them where two doors have the same.
func guestCalled(ctx context.Context, s *site.Site, id string) (*model.Guest, error) {
	list, err := guestsCalled(ctx, s, id)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 && strings.Contains(id, "/"):
		return nil, fmt.Errorf("there is no VM %s. If it was imported by that set and name before, it is of the provider's set now: take the import block out, and it is found again", id)
	case len(list) == 0:
		return nil, fmt.Errorf("there is no VM %s: want a VMID, a name in Proxmox, or a set and a name such as shop/web", id)
	case len(list) > 1:
		var ids []string
		for _, g := range list {
			ids = append(ids, fmt.Sprintf("%d on %s", g.VMID, g.Node))
		}
		slices.Sort(ids)
		return nil, fmt.Errorf("%s may be one of several VMs: %s. Say which one by its VMID", id, strings.Join(ids, ", "))
	}
	return list[0], noMachine(list[0])
}

// noMachine says what a guest is if no resource can be it.
func noMachine(g *model.Guest) error {
	switch {
	case g.Template:
		return fmt.Errorf("VM %d is a template: name it in an image, such as image = { source = %q }", g.VMID, g.Name)
	case g.Container:
		return fmt.Errorf("%d is a container, and no VM", g.VMID)
	}
	return nil
}

func guestsCalled(ctx context.Context, s *site.Site, id string) (list []*model.Guest, err error) {
	if strings.Contains(id, "/") {
		return guestsOf(ctx, s, id)
	}
	if number, bad := strconv.Atoi(id); bad == nil {
		err = s.View(ctx, func(have *model.Observed) {
			if g := have.Guests[number]; g != nil {
				list = append(list, g)
			}
		})
		return list, err
	}
	return guestsNamed(ctx, s, id)
}

// guestsNamed are the VMs with a name. Nodes are asked for their own lists: the cluster's list is some seconds late with names, so that it
// hasn't one that was just made, and may have another one that was called so.
func guestsNamed(ctx context.Context, s *site.Site, name string) (list []*model.Guest, err error) {
	if err := s.View(ctx, func(*model.Observed) {}); err != nil { // which has the lists read
		return nil, err
	}
	if err := s.Observer().Powers(ctx); err != nil {
		return nil, err
	}
	err = s.View(ctx, func(have *model.Observed) {
		list = slices.DeleteFunc(slices.Clone(have.Named(name)), func(g *model.Guest) bool { return g.Container })
	})
	return list, err
}

// guestsOf are the guests of an owner.
func guestsOf(ctx context.Context, s *site.Site, id string) (list []*model.Guest, err error) {
	through, words := doors, strings.Split(id, "/")
	if len(words) > 2 && slices.Contains(doors, words[0]) {
		through, words = words[:1], words[1:]
	}
	set, name, namespace := words[0], words[len(words)-1], strings.Join(words[1:len(words)-1], "/")
	for _, door := range through {
		found, err := s.List(ctx, door, set)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if m.Owner.Name == name && m.Owner.Namespace == namespace {
				list = append(list, m.Guest)
			}
		}
	}
	return list, nil
}
