package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Namespace is one of a Kubernetes, whose objects are what is wanted.
type Namespace struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides

	Name     string
	Client   client.Client
	Objects  []kube.Object
	lent     []kube.Object // of other namespaces, which they refer to
	Cluster  string        // what the Kubernetes is known by
	find     func(model.Key) any
	own      bool            // somebody logs in to Proxmox as himself
	problems manifest.Errors // objects whose specs are invalid
	About    string          // the machine that a command is about
}

// Flags adds the flags of kubectl that matter here.
func (n *Namespace) Flags(fs *pflag.FlagSet) {
	o := &n.overrides
	fs.StringVar(&n.kubeconfig, "kubeconfig", "", "`FILE` that says where Kubernetes is")
	fs.StringVarP(&o.Context.Namespace, "namespace", "n", "", "`NAMESPACE` of the objects")
	fs.StringVar(&o.CurrentContext, "context", "", "`NAME` of the context in the kubeconfig")
	fs.StringVar(&o.Context.Cluster, "cluster", "", "`NAME` of the cluster in the kubeconfig")
	fs.StringVar(&o.Context.AuthInfo, "user", "", "`NAME` of the user in the kubeconfig")
	fs.StringVarP(&o.ClusterInfo.Server, "server", "s", "", "`URL` of the API server of Kubernetes")
	fs.StringVar(&o.AuthInfo.Impersonate, "as", "", "`USER` to impersonate in Kubernetes")
	fs.StringArrayVar(&o.AuthInfo.ImpersonateGroups, "as-group", nil, "`GROUP` to impersonate; can be repeated")
	fs.StringVar(&o.Timeout, "request-timeout", "", "how long Kubernetes may take for a single request, such as 10s")
}

func (n *Namespace) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = n.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &n.overrides)
}

// Connect finds Kubernetes.
func (n *Namespace) Connect() error {
	loader := n.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return ui.Advise(fmt.Errorf("find Kubernetes: %w", err), "Set KUBECONFIG, or give --kubeconfig and --context; kubectl config view shows what there is.")
	}
	if n.Name, _, err = loader.Namespace(); err != nil {
		return fmt.Errorf("find the namespace: %w", err)
	}
	n.Client, err = client.New(config, client.Options{Scheme: kube.Scheme()})
	return n.Fail(err)
}

// open reads the objects.
func (n *Namespace) open(ctx context.Context) error {
	if err := n.Connect(); err != nil {
		return err
	}
	var err error
	if n.Objects, err = kube.Objects(ctx, n.Client, n.Name); err != nil {
		return n.Fail(err)
	}
	if n.lent, err = kube.Lent(ctx, n.Client, n.Name, kube.Users(n.Objects)); err != nil {
		return n.Fail(err)
	}
	n.find = func(key model.Key) any { return n.content(ctx, key) }
	if n.Cluster = n.knownAs(); n.Cluster == "" {
		n.Cluster, err = kube.Name(ctx, n.Client)
	}
	return n.Fail(err)
}

// knownAs is what this Kubernetes is known by, as the operator has written it down.
func (n *Namespace) knownAs() string {
	for _, o := range n.Objects {
		if p, ok := o.(*api.Provider); ok && p.Status.ClusterName != "" {
			return cmp.Or(p.Annotations[api.TakenOverBy], p.Status.ClusterName)
		}
	}
	return ""
}

// content reads a Secret or ConfigMap. Who logs in as himself needs no login of a
// Provider.
func (n *Namespace) content(ctx context.Context, key model.Key) any {
	value, _, err := kube.Content(ctx, n.Client, key)
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

// isLogin reports whether a Secret has the login of a Provider.
func (n *Namespace) isLogin(key model.Key) bool {
	return slices.ContainsFunc(n.Objects, func(o kube.Object) bool {
		p, ok := o.(*api.Provider)
		return ok && p.Spec.CredentialSecretRef != nil && p.Spec.CredentialSecretRef.Name == key.Name && key.Kind == "Secret"
	})
}

// In makes the objects of a namespace those that a target is about.
func (t *Target) In(ctx context.Context, n *Namespace) error {
	if err := n.open(ctx); err != nil {
		return err
	}
	t.Objects, t.Set = n, n.Cluster
	return nil
}

// fromObjects translates the objects of a namespace, as the operator does: what is
// wrong keeps nobody else back.
func (t *Target) fromObjects(_ *ui.UI, creds *pve.Credentials) ([]manifest.Wanted, error) {
	n := t.Objects
	n.own = !creds.IsZero()
	set, err := kube.Set(n.Objects, n.lent...)
	if err != nil {
		return nil, err
	}
	// What is in the environment is somebody else's.
	none := func(string) string { return "" }
	parts := set.Parts(manifest.Options{Set: t.Set, Grace: kube.Grace, Getenv: t.Environment(none, *creds), Find: n.find})
	n.problems = parts.Errors
	all := slices.DeleteFunc(slices.Clone(parts.Wanted), func(w manifest.Wanted) bool { return n.Problem(w.Provider.Kind, w.Provider.Name) != nil })
	switch {
	case len(parts.Wanted) == 0:
		return nil, ui.Advise(fmt.Errorf("there is no Provider in namespace %s", n.Name), "kubectl get providers -A shows where there are any; -n chooses the namespace.")
	case len(all) == 0:
		n.problems = nil
		p := parts.Wanted[0].Provider
		return nil, ui.Advise(errors.Join(ofObject(parts.Errors, p)...),
			"Who may not read the Secret can log in to Proxmox as himself: --token-id with --token-file, or --username.",
			"kubectl describe provider/"+p.Name+" shows what the operator reports about it.")
	}
	return all, nil
}

// object is the name of the object that a command is about.
func (n *Namespace) object() string { return n.About[strings.LastIndexByte(n.About, '/')+1:] }

// only leaves the Providers that have what a command is about, if any has: an image
// may be on several.
func (n *Namespace) only(all []manifest.Wanted) []manifest.Wanted {
	kind, name, ok := strings.Cut(n.About, "/")
	if !ok {
		kind, name = "vm", n.About
	}
	var some []manifest.Wanted
	for _, w := range all {
		has := false
		switch d := w.Desired; Kind(kind) {
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

// guestOf is the machine of an object.
func (c *Site) guestOf(ctx context.Context, name string) (*model.Guest, error) {
	o, err := c.ObjectOf(ctx, name, IsVM)
	if err != nil {
		return nil, err
	}
	return c.proved(ctx, o)
}

// SnapshotOf finds the snapshot of an object in Proxmox: VMID/NAME.
func (c *Site) SnapshotOf(ctx context.Context, name string) (string, error) {
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
	return "", fmt.Errorf("namespace %s has no VMSnapshot %q; %s", c.Namespace, name, ui.ThereAre(names))
}

// MachinesOf returns the names of the machines that an object stands for.
func MachinesOf(o kube.Object) []string {
	if vm, ok := o.(*api.VirtualMachine); ok {
		return manifest.Machines(vm)
	}
	return []string{o.GetName()}
}

// HasOf reports whether the object is there that an owner is.
func (n *Namespace) HasOf(owner model.Owner) bool {
	return slices.ContainsFunc(n.Objects, func(o kube.Object) bool {
		return manifest.Identity(o) == owner.UID && cmp.Or(o.GetAnnotations()[api.ClusterName], n.Cluster) == owner.Set
	})
}
