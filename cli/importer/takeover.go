package importer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// takeover is a machine that was made for an object, which is there and isn't the same
// one any more: it was lost and made anew, or its Kubernetes was.
type takeover struct {
	guest  *model.Guest
	object kube.Object
	want   map[string]string // annotations that the object is to have
}

// takeovers are the machines among some guests that were made for objects that are
// there, and the others.
func (i *importingObjects) takeovers(have *model.Observed, ids []int) (list []takeover, rest []int, err error) {
	for _, id := range ids {
		g := have.Guests[id]
		m := g.Config.Marker
		if m == nil || !i.lost(m.Owner) {
			rest = append(rest, id)
			continue
		}
		name := cmp.Or(m.Group, m.Owner.Name)
		o := objectNamed(i.Objects, m.Owner.Kind, name)
		switch {
		case o != nil:
			if vmid := vmidOf(o, m.Owner.Name); vmid != 0 && vmid != id && have.Guests[vmid] != nil {
				return nil, nil, ui.Advise(fmt.Errorf("%s/%s has VM %d already, so VM %d isn't taken over", strings.ToLower(m.Owner.Kind), name, vmid, id), "Delete one of them, or rename the object.")
			}
			list = append(list, takeover{guest: g, object: o, want: knownOf(i.Objects, m.Owner)})
		case m.Owner.Kind != "VirtualMachine" || m.Group != "":
			return nil, nil, ui.Advise(fmt.Errorf("VM %d was made for %s %s, which isn't there", id, m.Owner.Kind, name), "Apply its manifest again, then repeat this command.")
		default:
			rest = append(rest, id)
		}
	}
	return list, rest, nil
}

// lost reports whether an owner is an object of the namespace that is no more.
func (i *importingObjects) lost(o model.Owner) bool {
	return o.UID != "" && o.Door == manifest.Door && o.Namespace == i.Objects.Name && !i.Objects.HasOf(o)
}

// objectNamed finds an object of the namespace.
func objectNamed(n *target.Namespace, kind, name string) kube.Object {
	for _, o := range n.Objects {
		if manifest.KindOf(o) == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

// knownOf are the annotations of an object that is known in Proxmox as an owner was.
func knownOf(n *target.Namespace, owner model.Owner) map[string]string {
	want := map[string]string{api.Identity: owner.UID}
	if owner.Set != n.Cluster {
		want[api.ClusterName], want[api.TakenOverBy] = owner.Set, n.Cluster
	}
	return want
}

// vmidOf is the VMID that an object has, or one of its machines.
func vmidOf(o kube.Object, machine string) int {
	switch o := o.(type) {
	case *api.VirtualMachine:
		for _, m := range o.Status.Members {
			if m.Name == machine {
				return m.VMID
			}
		}
		return o.Status.VMID
	case *api.VMClone:
		return o.Status.VMID
	}
	return 0
}

// command is what does it by hand.
func (t takeover) command() string {
	words := []string{"kubectl", "annotate", "--overwrite", "-n", t.object.GetNamespace(), strings.ToLower(manifest.KindOf(t.object)), t.object.GetName()}
	for _, key := range model.NamesOf(t.want) {
		words = append(words, key+"="+t.want[key])
	}
	return strings.Join(words, " ")
}

// takeOver has objects take over their machines, if that is agreed to.
func (i *importingObjects) takeOver(ctx context.Context, u *ui.UI, list []takeover) error {
	if len(list) == 0 {
		return nil
	}
	for _, t := range list {
		fmt.Fprintf(u.Err, "VM %d on %s becomes %s again, as it was; nothing about the machine changes:\n  %s\n",
			t.guest.VMID, t.guest.Node, status.Name(t.guest.Config.Marker.Owner.Key), t.command())
	}
	if i.DryRun != "none" {
		return nil
	}
	if err := u.Agree(ctx, i.yes, status.Count(len(list), "machine is taken over", "machines are taken over")); err != nil {
		return err
	}
	for _, t := range list {
		before := t.object.DeepCopyObject().(client.Object)
		annotations := map[string]string{}
		for key, value := range t.object.GetAnnotations() {
			annotations[key] = value
		}
		for key, value := range t.want {
			annotations[key] = value
		}
		t.object.SetAnnotations(annotations)
		if err := i.Objects.Client.Patch(ctx, t.object, client.MergeFrom(before), client.FieldOwner(target.FieldManager)); err != nil {
			return i.Objects.Fail(err)
		}
		fmt.Fprintf(u.Err, "✓ VM %d is %s again\n", t.guest.VMID, status.Name(t.guest.Config.Marker.Owner.Key))
	}
	return nil
}

// unmarked are the machines among some guests whose objects are there and which have
// lost the proof that they are theirs, and the others.
func (i *importingObjects) unmarked(u *ui.UI, c *target.Site, ids []int) (list []importedMachine, rest []int, err error) {
	all, err := i.Wanted(u)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(all, func(w manifest.Wanted) bool { return w.Provider == c.Provider })
	if at < 0 {
		return nil, ids, nil
	}
	want, have := all[at].Desired, c.Observer.Snapshot()
	for _, id := range ids {
		g := have.Guests[id]
		v := slices.IndexFunc(want.VMs, func(v model.VM) bool { return v.Remembered == id && v.Name == g.Name && !v.Deleted })
		if g.Config.Marker != nil || v < 0 {
			rest = append(rest, id)
			continue
		}
		list = append(list, judge(want, want.VMs[v].Owner.Name, have, g))
	}
	return list, rest, nil
}

// putBack puts our marks on machines that have lost them.
func (i *importingObjects) putBack(ctx context.Context, u *ui.UI, c *target.Site, list []importedMachine) error {
	if len(list) == 0 {
		return nil
	}
	if i.DryRun != "none" {
		return nil
	}
	if err := i.agreed(ctx, u, list); err != nil {
		return err
	}
	return i.markAll(ctx, u, c, list)
}
