package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// fieldManager is who we are when we make objects.
const fieldManager = pluginProxplane

// printing is how objects are made and shown, as of kubectl create.
type printing struct {
	dryRun, output string
}

func (p *printing) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.dryRun, "dry-run", "none", "`HOW` much of it is done: none makes it so, server has Kubernetes check it, client only shows it")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
	cmd.Flags().StringVarP(&p.output, "output", "o", "", "`FORMAT` in which objects are shown: name, yaml or json")
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server", "client"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"name", "yaml", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (p *printing) check() error {
	if !slices.Contains([]string{"none", "server", "client"}, p.dryRun) {
		return fmt.Errorf("--dry-run=%s: want none, server or client", p.dryRun)
	}
	return checkOutput(p.output, "name", "yaml", "json")
}

// create makes an object, as far as that is asked for.
func (p *printing) create(ctx context.Context, n *namespace, o client.Object) error {
	options := []client.CreateOption{client.FieldOwner(fieldManager)}
	switch p.dryRun {
	case "client":
		return nil
	case "server":
		options = append(options, client.DryRunAll)
	}
	return n.fail(client.WithFieldValidation(n.client, metav1.FieldValidationStrict).Create(ctx, o, options...))
}

// show prints an object, in the words of kubectl.
func (p *printing) show(u *ui, o client.Object, done string) error {
	kind := o.GetObjectKind().GroupVersionKind()
	if kind.Empty() { // the client leaves it out of what it has read
		kind = schema.FromAPIVersionAndKind(api.APIVersion, manifest.KindOf(o))
		o.GetObjectKind().SetGroupVersionKind(kind)
	}
	name := fmt.Sprintf("%s.%s/%s", strings.ToLower(kind.Kind), kind.Group, o.GetName())
	var text []byte
	var err error
	switch p.output {
	case "":
		if p.dryRun != "none" {
			done += map[string]string{"server": " (server dry run)", "client": " (dry run)"}[p.dryRun]
		}
		u.say("%s %s", name, done)
		return nil
	case "name":
		u.say("%s", name)
		return nil
	case "json":
		text, err = json.MarshalIndent(o, "", "    ")
		text = append(text, '\n')
	default:
		text, err = yaml.Marshal(o)
	}
	if err == nil {
		_, err = u.out.Write(text)
	}
	return err
}

// snapshotObject is one call of `kubectl create vmsnapshot`.
type snapshotObject struct {
	namespace
	printing
	vm, description string
	memory          bool
}

// newKubectlSnapshot is `kubectl create vmsnapshot`.
func newKubectlSnapshot(u *ui) *cobra.Command {
	s := &snapshotObject{}
	cmd := plugin(u, &cobra.Command{
		Use:   pluginSnapshot + " NAME --vm=VM",
		Short: "Create a VMSnapshot",
		Long: `Make a VMSnapshot: the operator takes a snapshot of the machine, which stays as long
as the object does. With --include-memory the machine's memory is in it, so that
going back to it leaves the machine running.`,
		Example: `  kubectl create vmsnapshot before-upgrade --vm=web-server
  kubectl create vmsnapshot before-upgrade --vm=web-server --description="Before major upgrade" --include-memory=true
  kubectl create vmsnapshot before-upgrade --vm=web-server -n shop --dry-run=client -o yaml`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), u, args[0]) },
	}, "kubectl create vmsnapshot")
	cmd.Flags().StringVar(&s.vm, "vm", "", "`NAME` of the VirtualMachine or VMClone")
	cmd.Flags().StringVar(&s.description, "description", "", "`TEXT` that goes with it")
	cmd.Flags().BoolVar(&s.memory, "include-memory", false, "with the memory of the running machine")
	s.printing.flags(cmd)
	s.namespace.flags(cmd.Flags())
	return cmd
}

func (s *snapshotObject) run(ctx context.Context, u *ui, name string) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.vm == "" {
		return errors.New("--vm is missing: it names the machine, as in --vm=web-server")
	}
	if err := s.connect(); err != nil {
		return err
	}
	o := &api.VMSnapshot{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: "VMSnapshot"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.name},
		Spec:       api.VMSnapshotSpec{VMRef: api.Ref{Name: s.vm}, Description: s.description, IncludeMemory: s.memory},
	}
	if s.dryRun != "client" {
		if err := s.there(ctx, s.vm); err != nil {
			return err
		}
	}
	if err := s.create(ctx, &s.namespace, o); err != nil {
		return err
	}
	return s.show(u, o, "created")
}

// machinesOf are the names of the machines that an object stands for.
func machinesOf(o kube.Object) []string {
	if vm, ok := o.(*api.VirtualMachine); ok {
		return manifest.Machines(vm)
	}
	return []string{o.GetName()}
}

// there tells whether there is a machine of a name: a snapshot of none would wait for
// ever. Who may not look isn't kept from it.
func (n *namespace) there(ctx context.Context, name string) error {
	objects, err := kube.Objects(ctx, n.client, n.name)
	if err != nil {
		if apierrors.IsForbidden(err) {
			return nil
		}
		return n.fail(err)
	}
	var names []string
	for _, o := range objects {
		if !isVM(manifest.KindOf(o)) {
			continue
		}
		names = append(names, machinesOf(o)...)
	}
	if slices.Contains(names, name) {
		return nil
	}
	model.SortNames(names)
	return fmt.Errorf("--vm %s: there is no such machine in namespace %s; %s", name, n.name, thereAre(names))
}
