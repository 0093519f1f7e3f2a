package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/manifest/draft"
	"github.com/proxplane/proxplane/model"
)

// importingObjects is one call of `kubectl proxplane import`.
type importingObjects struct {
	importing
	target.Printing
}

// NewKubectl returns the command `kubectl proxplane import`.
func NewKubectl(u *ui.UI, n *target.Namespace) *cobra.Command {
	i := &importingObjects{}
	cmd := &cobra.Command{
		Use:   "import VMID|NAME…",
		Short: "Create objects for existing machines",
		Long: `Make VirtualMachines, with their classes and images, of machines that are there in
Proxmox already, and have the operator look after these machines from then on. Each
machine gets a marker in its description and two tags; nothing else changes: that is
checked. Settings that objects don't have (a disk that isn't on a storage, an interface
without a bridge) are left as they are.

With --dry-run=client -o yaml nothing is made, and the objects are shown.`,
		Example: `  kubectl proxplane import 104 105
  kubectl proxplane import web-1 -n shop --provider proxmox-prod --yes
  kubectl proxplane import 104 --as db-1
  kubectl proxplane import 104 --dry-run=client -o yaml > web-1.yaml`,
		Args:              command.Takes(1, 0),
		ValidArgsFunction: i.completeImport(u, n),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(i.Check(), i.checkAs(args)); err != nil {
				return err
			}
			if err := i.In(cmd.Context(), n); err != nil {
				return err
			}
			return i.run(cmd.Context(), u, args)
		},
	}
	i.ConnectionFlags(cmd)
	i.Printing.Flags(cmd)
	cmd.Flags().StringVar(&i.as, "as", "", "`NAME` of the VirtualMachine that the machine becomes")
	cmd.Flags().BoolVarP(&i.yes, "yes", "y", false, "don't ask")
	return cmd
}

// completeImport completes machines of Proxmox.
func (i *importingObjects) completeImport(u *ui.UI, n *target.Namespace) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if err := i.In(cmd.Context(), n); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return i.CompleteVMs(u)(cmd, args, toComplete)
	}
}

func (i *importingObjects) run(ctx context.Context, u *ui.UI, names []string) error {
	c, err := i.Site(u)
	if err != nil {
		return err
	}
	ids, err := readGuests(ctx, c, names)
	if err != nil {
		return err
	}
	mine, ids, err := i.takeovers(c.Observer.Snapshot(), ids)
	if err != nil {
		return err
	}
	if err := i.sameName(ids); err != nil {
		return err
	}
	if err := i.takeOver(ctx, u, mine); err != nil {
		return err
	}
	unmarked, ids, err := i.unmarked(u, c, ids)
	if err != nil {
		return err
	}
	if err := i.sameName(ids); err != nil {
		return err
	}
	if err := i.putBack(ctx, u, c, unmarked); err != nil || len(ids) == 0 {
		return err
	}
	return i.makeObjects(ctx, u, c, ids)
}

// sameName refuses --as for a machine that an object of this namespace has already: ids are
// those that no object has.
func (i *importingObjects) sameName(ids []int) error {
	if i.as == "" || len(ids) > 0 {
		return nil
	}
	return ui.Advise(fmt.Errorf("--as %s: an object of namespace %s has this machine already", i.as, i.Objects.Name), "Leave --as out.")
}

// makeObjects makes objects of machines that have none.
func (i *importingObjects) makeObjects(ctx context.Context, u *ui.UI, c *target.Site, ids []int) error {
	found, err := i.write(c, ids)
	if err != nil {
		return err
	}
	if !found.tell(u) {
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	if err := settle(ctx, i.Objects, found.docs, c.Provider.Name); err != nil {
		return err
	}
	if i.DryRun == "client" && i.Output == "yaml" {
		_, err := io.WriteString(u.Out, found.docs.Text()) // with its comments
		return err
	}
	if i.DryRun == "none" {
		if err := i.agreed(ctx, u, found.machines); err != nil {
			return err
		}
	}
	if err := i.make(ctx, u, found); err != nil || i.DryRun != "none" {
		return err
	}
	machines, err := i.again(ctx, u, c, found.machines)
	if err != nil {
		return err
	}
	return i.markAll(ctx, u, c, machines)
}

// settle says where objects belong, and calls those that machines share as they are
// called there: one that says something else may have that name.
func settle(ctx context.Context, n *target.Namespace, docs *draft.Documents, provider string) error {
	for at := range docs.List {
		d := &docs.List[at]
		d.Namespace = n.Name
		if d.Kind == "VirtualMachine" {
			d.Spec.Before("providerRef", (&draft.Mapping{}).Put("name", provider))
		}
		if !d.Shared() {
			continue
		}
		name, err := freeName(ctx, n, *d)
		if err != nil {
			return err
		}
		d.Rename(name)
	}
	return nil
}

// freeName finds the name under which a document is there, or can be made.
func freeName(ctx context.Context, n *target.Namespace, d draft.Document) (string, error) {
	base := d.Name
	for number := 2; ; number++ {
		o, err := unstructuredOf(d)
		if err != nil {
			return "", err
		}
		there := o.DeepCopy()
		err = n.Client.Get(ctx, client.ObjectKeyFromObject(there), there)
		if apierrors.IsNotFound(err) {
			return d.Name, nil
		} else if err != nil {
			return "", n.Fail(err)
		}
		// Kubernetes fills in what is left out; then they can be compared.
		o.SetName("")
		o.SetGenerateName("proxplane-")
		if err := n.Client.Create(ctx, o, client.DryRunAll); err != nil {
			return "", n.Fail(err)
		}
		if reflect.DeepEqual(o.Object["spec"], there.Object["spec"]) {
			return d.Name, nil
		}
		d.Name = fmt.Sprintf("%s-%d", base, number)
	}
}

// unstructuredOf is the document as an object of Kubernetes.
func unstructuredOf(d draft.Document) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	return o, yaml.Unmarshal([]byte(d.Object().Text()), &o.Object)
}

// make makes objects, and takes those that are there already.
func (i *importingObjects) make(ctx context.Context, u *ui.UI, found imported) error {
	for _, d := range found.docs.List {
		o, err := unstructuredOf(d)
		if err != nil {
			return err
		}
		if d.Kind == "VirtualMachine" {
			o.SetAnnotations(i.inherited(found.machines, d.Name))
		}
		done := "created"
		if err := i.Create(ctx, i.Objects, o); apierrors.IsAlreadyExists(err) {
			done = "unchanged"
		} else if err != nil {
			return err
		}
		if err := i.Show(u, o, done); err != nil {
			return err
		}
	}
	return nil
}

// inherited are the annotations by which an object is known as the former one of its
// machine was, if that had one of the same name.
func (i *importingObjects) inherited(machines []importedMachine, name string) map[string]string {
	for _, m := range machines {
		if was := m.guest.Config.Marker; was != nil && m.owner.Name == name && was.Owner.Name == name && was.Owner.Kind == "VirtualMachine" && i.lost(was.Owner) {
			return knownOf(i.Objects, was.Owner)
		}
	}
	return nil
}

// again looks at machines with the objects as they are in Kubernetes: what was there
// already may say something else.
func (i *importingObjects) again(ctx context.Context, u *ui.UI, c *target.Site, list []importedMachine) ([]importedMachine, error) {
	if err := i.In(ctx, i.Objects); err != nil {
		return nil, err
	}
	all, err := i.Wanted(u)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(w manifest.Wanted) bool { return w.Provider == c.Provider })
	if at < 0 {
		return nil, fmt.Errorf("%s is gone meanwhile", c.Provider)
	}
	want := all[at].Desired
	var out []importedMachine
	for _, m := range list {
		name := m.owner.Name
		v := slices.IndexFunc(want.VMs, func(v model.VM) bool { return v.Owner.Name == name && v.Owner.Kind == "VirtualMachine" })
		switch {
		case i.Objects.Problem("VirtualMachine", name) != nil:
			return nil, i.Objects.Problem("VirtualMachine", name)
		case v < 0 || !isOf(m.guest, want.VMs[v]):
			return nil, ui.Advise(fmt.Errorf("vm/%s is there already, and isn't VM %d", name, m.guest.VMID), "Rename one of them; nothing was adopted.")
		}
		now := judge(want, name, c.Observer.Snapshot(), m.guest)
		if len(now.differences) > 0 {
			return nil, ui.Advise(fmt.Errorf("vm/%s would change VM %d, so it isn't adopted", name, m.guest.VMID), now.differences...)
		}
		out = append(out, now)
	}
	return out, nil
}

// isOf reports whether a guest can be that of an object: the object names it, or it was
// that of another object of the same name.
func isOf(g *model.Guest, v model.VM) bool {
	was := g.Config.Marker
	return v.VMID == g.VMID || v.VMID == 0 && was != nil && was.Owner.Key == v.Owner.Key
}
