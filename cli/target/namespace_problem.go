package target

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

func ofObject(errs manifest.Errors, key model.Key) []error {
	var list []error
	for _, e := range errs {
		if e.Object == key {
			list = append(list, e)
		}
	}
	return list
}

// Problem returns what is wrong with an object; nil: nothing.
func (n *Namespace) Problem(kind, name string) error {
	for _, e := range n.problems {
		if e.Object.Kind == kind && e.Object.Name == name {
			return e
		}
	}
	return nil
}

// Conclude ends a command that is about all objects: objects with errors were left out, and
// are reported after the others.
func (n *Namespace) Conclude(u *ui.UI, err error) error {
	if len(n.problems) == 0 {
		return err
	}
	u.Complain(n.problems)
	var exit *ui.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	return &ui.ExitError{Code: ui.ExitFailed}
}

// Explain says why nothing could be found of an object that is there.
func (n *Namespace) Explain(err error) error {
	if err == nil {
		return nil
	}
	for _, kind := range []string{"VirtualMachine", "VMClone", "VMImage", "VMSnapshot"} {
		if wrong := n.Problem(kind, n.object()); wrong != nil {
			return ui.Advise(wrong, fmt.Sprintf("kubectl edit %s/%s corrects it.", strings.ToLower(kind), n.object()))
		}
	}
	return err
}

// Fail adds to an error of Kubernetes what the person can do about it.
func (n *Namespace) Fail(err error) error {
	switch {
	case err == nil:
		return nil
	case kube.Unknown(err):
		return ui.Advise(err, "This Kubernetes doesn't know our kinds: install the chart (helm install proxplane), or kubectl apply --server-side -f deploy/crds.")
	case apierrors.IsForbidden(err):
		return ui.Advise(err, fmt.Sprintf("kubectl auth can-i --list -n %s shows what you may do there.", cmp.Or(n.Name, "NAMESPACE")))
	case apierrors.IsUnauthorized(err):
		return ui.Advise(err, "Kubernetes doesn't know you: log in again, or choose another user with --context.")
	}
	return err
}
