package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// namespace is one of a Kubernetes, whose objects are what is wanted.
type namespace struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides

	name     string
	client   client.Client
	objects  []kube.Object
	lent     []kube.Object // of other namespaces, which they refer to
	cluster  string        // what the Kubernetes is known by
	find     func(model.Key) any
	own      bool            // somebody logs in to Proxmox as himself
	problems manifest.Errors // objects that can't be made so
	about    string          // the machine that a command is about
}

// flags are those of kubectl that matter here.
func (n *namespace) flags(fs *pflag.FlagSet) {
	o := &n.overrides
	fs.StringVar(&n.kubeconfig, "kubeconfig", "", "`FILE` that says where Kubernetes is")
	fs.StringVarP(&o.Context.Namespace, "namespace", "n", "", "`NAMESPACE` of the objects")
	fs.StringVar(&o.CurrentContext, "context", "", "`NAME` of the context in the kubeconfig")
	fs.StringVar(&o.Context.Cluster, "cluster", "", "`NAME` of the cluster in the kubeconfig")
	fs.StringVar(&o.Context.AuthInfo, "user", "", "`NAME` of the user in the kubeconfig")
	fs.StringVarP(&o.ClusterInfo.Server, "server", "s", "", "`URL` of the API server of Kubernetes")
	fs.StringVar(&o.AuthInfo.Impersonate, "as", "", "`USER` to be in Kubernetes, for the operation")
	fs.StringArrayVar(&o.AuthInfo.ImpersonateGroups, "as-group", nil, "`GROUP` to be of; can be repeated")
	fs.StringVar(&o.Timeout, "request-timeout", "", "how long Kubernetes may take for a single request, such as 10s")
}

func (n *namespace) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = n.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &n.overrides)
}

// connect finds Kubernetes.
func (n *namespace) connect() error {
	loader := n.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return advise(fmt.Errorf("find Kubernetes: %w", err), "Set KUBECONFIG, or give --kubeconfig and --context; kubectl config view shows what there is.")
	}
	if n.name, _, err = loader.Namespace(); err != nil {
		return fmt.Errorf("find the namespace: %w", err)
	}
	n.client, err = client.New(config, client.Options{Scheme: kube.Scheme()})
	return n.fail(err)
}

// open reads the objects.
func (n *namespace) open(ctx context.Context) error {
	if err := n.connect(); err != nil {
		return err
	}
	var err error
	if n.objects, err = kube.Objects(ctx, n.client, n.name); err != nil {
		return n.fail(err)
	}
	if n.lent, err = kube.Lent(ctx, n.client, n.name, kube.Users(n.objects)); err != nil {
		return n.fail(err)
	}
	n.find = func(key model.Key) any { return n.content(ctx, key) }
	if n.cluster = n.knownAs(); n.cluster == "" {
		n.cluster, err = kube.Name(ctx, n.client)
	}
	return n.fail(err)
}

// knownAs is what this Kubernetes is known by, as the operator has written it down.
func (n *namespace) knownAs() string {
	for _, o := range n.objects {
		if p, ok := o.(*api.Provider); ok && p.Status.ClusterName != "" {
			return cmp.Or(p.Annotations[api.TakenOverBy], p.Status.ClusterName)
		}
	}
	return ""
}

// content reads a Secret or ConfigMap. Who logs in as himself needs no login of a
// Provider.
func (n *namespace) content(ctx context.Context, key model.Key) any {
	value, _, err := kube.Content(ctx, n.client, key)
	switch {
	case err == nil:
		return value
	case apierrors.IsForbidden(err) && n.own && n.isLogin(key):
		return &manifest.Secret{}
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not read %s %s in namespace %s", key.Kind, key.Name, key.Namespace)
	}
	return err
}

// isLogin tells whether a Secret has the login of a Provider.
func (n *namespace) isLogin(key model.Key) bool {
	return slices.ContainsFunc(n.objects, func(o kube.Object) bool {
		p, ok := o.(*api.Provider)
		return ok && p.Spec.CredentialSecretRef != nil && p.Spec.CredentialSecretRef.Name == key.Name && key.Kind == "Secret"
	})
}

// in has a target be about the objects of a namespace.
func (t *target) in(ctx context.Context, n *namespace) error {
	if err := n.open(ctx); err != nil {
		return err
	}
	t.objects, t.set = n, n.cluster
	return nil
}

// fromObjects translates the objects of a namespace, as the operator does: what is
// wrong keeps nobody else back.
func (t *target) fromObjects(_ *ui, creds *pve.Credentials) ([]manifest.Wanted, error) {
	n := t.objects
	n.own = !creds.IsZero()
	set, err := kube.Set(n.objects, n.lent...)
	if err != nil {
		return nil, err
	}
	// What is in the environment is somebody else's.
	none := func(string) string { return "" }
	parts := set.Parts(manifest.Options{Set: t.set, Grace: kube.Grace, Getenv: t.environment(none, *creds), Find: n.find})
	n.problems = parts.Errors
	all := slices.DeleteFunc(slices.Clone(parts.Wanted), func(w manifest.Wanted) bool { return n.problem(w.Provider.Kind, w.Provider.Name) != nil })
	switch {
	case len(parts.Wanted) == 0:
		return nil, advise(fmt.Errorf("there is no Provider in namespace %s", n.name), "kubectl get providers -A shows where there are any; -n chooses the namespace.")
	case len(all) == 0:
		n.problems = nil
		p := parts.Wanted[0].Provider
		return nil, advise(errors.Join(ofObject(parts.Errors, p)...),
			"Who may not read the Secret can log in to Proxmox as himself: --token-id with --token-file, or --username.",
			"kubectl describe provider/"+p.Name+" tells what the operator says of it.")
	}
	return all, nil
}

func ofObject(errs manifest.Errors, key model.Key) []error {
	var list []error
	for _, e := range errs {
		if e.Object == key {
			list = append(list, e)
		}
	}
	return list
}

// problem is what is wrong with an object; nil: nothing.
func (n *namespace) problem(kind, name string) error {
	for _, e := range n.problems {
		if e.Object.Kind == kind && e.Object.Name == name {
			return e
		}
	}
	return nil
}

// conclude ends a command that is about all objects: those that are wrong were left
// out, and are told of after what was found out about the others.
func (n *namespace) conclude(u *ui, err error) error {
	if len(n.problems) == 0 {
		return err
	}
	u.complain(n.problems)
	var told *exitError
	if err != nil && !errors.As(err, &told) {
		return err
	}
	return &exitError{code: exitFailed}
}

// explain says why nothing could be found of an object that is there.
func (n *namespace) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, kind := range []string{"VirtualMachine", "VMClone", "VMImage", "VMSnapshot"} {
		if wrong := n.problem(kind, n.object()); wrong != nil {
			return advise(wrong, fmt.Sprintf("kubectl edit %s/%s corrects it.", strings.ToLower(kind), n.object()))
		}
	}
	return err
}

// object is the name of the object that a command is about.
func (n *namespace) object() string { return n.about[strings.LastIndexByte(n.about, '/')+1:] }

// only leaves the Providers that have what a command is about, if any has: an image
// may be on several.
func (n *namespace) only(all []manifest.Wanted) []manifest.Wanted {
	kind, name, ok := strings.Cut(n.about, "/")
	if !ok {
		kind, name = "vm", n.about
	}
	var some []manifest.Wanted
	for _, w := range all {
		has := false
		switch d := w.Desired; meant(kind) {
		case "vm":
			has = slices.ContainsFunc(d.VMs, func(v model.VM) bool { return v.Owner.Name == name })
		case "image":
			has = slices.ContainsFunc(d.Images, func(i model.Image) bool { return i.Owner.Name == name })
		case "snapshot":
			has = slices.ContainsFunc(d.Snapshots, func(s model.Snapshot) bool { return s.Owner.Name == name })
		}
		if has {
			some = append(some, w)
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

// fail adds to an error of Kubernetes what the person can do about it.
func (n *namespace) fail(err error) error {
	switch {
	case err == nil:
		return nil
	case kube.Unknown(err):
		return advise(err, "This Kubernetes doesn't know our kinds: install the chart (helm install proxplane), or kubectl apply --server-side -f deploy/crds.")
	case apierrors.IsForbidden(err):
		return advise(err, fmt.Sprintf("kubectl auth can-i --list -n %s shows what you may do there.", cmp.Or(n.name, "NAMESPACE")))
	case apierrors.IsUnauthorized(err):
		return advise(err, "Kubernetes doesn't know you: log in again, or choose another user with --context.")
	}
	return err
}

// guestOf is the machine of an object.
func (c *cluster) guestOf(ctx context.Context, name string) (*model.Guest, error) {
	o, err := c.objectOf(ctx, name, isVM)
	if err != nil {
		return nil, err
	}
	g := c.observer.Snapshot().Guests[o.VMID]
	if g == nil {
		return nil, fmt.Errorf("%s isn't there yet: %s", status.Name(o.Owner.Key), status.Kubernetes.Of(o).Message)
	}
	return g, nil
}

// snapshotOf finds the snapshot of an object in Proxmox: VMID/NAME.
func (c *cluster) snapshotOf(ctx context.Context, name string) (string, error) {
	var names []string
	for _, s := range c.Desired.Snapshots {
		if s.Owner.Name != name {
			names = append(names, s.Owner.Name)
			continue
		}
		g, err := c.guestOf(ctx, s.VM.Name)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d/%s", g.VMID, s.Name), nil
	}
	return "", fmt.Errorf("namespace %s has no VMSnapshot %q; %s", c.namespace, name, thereAre(names))
}

// complete completes the names of objects.
func (n *namespace) complete(prefix string, kinds ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if err := n.connect(); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		objects, err := kube.Objects(cmd.Context(), n.client, n.name)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, o := range objects {
			if slices.Contains(kinds, manifest.KindOf(o)) {
				for _, name := range machinesOf(o) {
					names = append(names, prefix+name)
				}
			}
		}
		model.SortNames(names)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags completes what the kubeconfig knows.
func (n *namespace) completeFlags(cmd *cobra.Command) {
	_ = cmd.MarkPersistentFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := n.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return model.NamesOf(raw.Contexts), cobra.ShellCompDirectiveNoFileComp
	})
}

// machinesOf are the names of the machines that an object stands for.
func machinesOf(o kube.Object) []string {
	if vm, ok := o.(*api.VirtualMachine); ok {
		return manifest.Machines(vm)
	}
	return []string{o.GetName()}
}

// hasOf reports whether the object is there that an owner is.
func (n *namespace) hasOf(owner model.Owner) bool {
	return slices.ContainsFunc(n.objects, func(o kube.Object) bool {
		return manifest.Identity(o) == owner.UID && cmp.Or(o.GetAnnotations()[api.ClusterName], n.cluster) == owner.Set
	})
}
