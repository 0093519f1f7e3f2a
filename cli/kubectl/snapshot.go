package kubectl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// snapshotObject is one call of `kubectl create vmsnapshot`.
type snapshotObject struct {
	target.Namespace
	target.Printing
	vm, description string
	memory          bool
}

// NewCreateSnapshot returns the command `kubectl create vmsnapshot`.
func NewCreateSnapshot(u *ui.UI) *cobra.Command {
	s := &snapshotObject{}
	cmd := plugin(u, &cobra.Command{
		Use:   PluginSnapshot + " NAME --vm=VM",
		Short: "Create a VMSnapshot",
		Long: `Make a VMSnapshot: the operator takes a snapshot of the machine, which stays as long
as the object does. With --include-memory the machine's memory is in it, so that
going back to it leaves the machine running.`,
		Example: `  kubectl create vmsnapshot before-upgrade --vm=web-server
  kubectl create vmsnapshot before-upgrade --vm=web-server --description="Before major upgrade" --include-memory=true
  kubectl create vmsnapshot before-upgrade --vm=web-server -n shop --dry-run=client -o yaml`,
		Args: command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), u, args[0]) },
	}, "kubectl create vmsnapshot")
	cmd.Flags().StringVar(&s.vm, "vm", "", "`NAME` of the VirtualMachine or VMClone")
	cmd.Flags().StringVar(&s.description, "description", "", "`TEXT` that goes with it")
	cmd.Flags().BoolVar(&s.memory, "include-memory", false, "with the memory of the running machine")
	s.Printing.Flags(cmd)
	s.Namespace.Flags(cmd.Flags())
	return cmd
}

func (s *snapshotObject) run(ctx context.Context, u *ui.UI, name string) error {
	if err := s.Check(); err != nil {
		return err
	}
	if s.vm == "" {
		return errors.New("--vm is missing: it names the machine, as in --vm=web-server")
	}
	if err := s.Connect(); err != nil {
		return err
	}
	o := &api.VMSnapshot{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: "VMSnapshot"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Name},
		Spec:       api.VMSnapshotSpec{VMRef: api.Ref{Name: s.vm}, Description: s.description, IncludeMemory: s.memory},
	}
	if s.DryRun != "client" {
		if err := machineThere(ctx, &s.Namespace, s.vm); err != nil {
			return err
		}
	}
	if err := s.Create(ctx, &s.Namespace, o); err != nil {
		return err
	}
	return s.Show(u, o, "created")
}

// machineThere reports whether there is a machine of a name: a snapshot of none would wait for
// ever. Who may not look isn't kept from it.
func machineThere(ctx context.Context, n *target.Namespace, name string) error {
	objects, err := kube.Objects(ctx, n.Client, n.Name)
	if err != nil {
		if apierrors.IsForbidden(err) {
			return nil
		}
		return n.Fail(err)
	}
	var names []string
	for _, o := range objects {
		if !target.IsVM(manifest.KindOf(o)) {
			continue
		}
		names = append(names, target.MachinesOf(o)...)
	}
	if slices.Contains(names, name) {
		return nil
	}
	model.SortNames(names)
	return fmt.Errorf("--vm %s: there is no such machine in namespace %s; %s", name, n.Name, ui.ThereAre(names))
}
