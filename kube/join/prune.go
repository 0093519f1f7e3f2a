package join

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Prune deletes the tokens of the door that nobody needs: those of machines whose Node is there, of machines
// that are gone, and those that have expired. It returns how many tokens are left. Nodes are read from nodes.
func (t *Tokens) Prune(ctx context.Context, nodes client.Reader, machines Machines) (left int, err error) {
	var list corev1.SecretList
	if err := t.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{doorLabel: t.Door}); err != nil {
		return 0, fmt.Errorf("list the bootstrap tokens of door %s: %w", t.Door, err)
	}
	var failed []error
	for i := range list.Items {
		s := &list.Items[i]
		if !t.owns(s, s.Annotations[ownerNote]) {
			continue // the label alone proves nothing
		}
		done, err := t.done(ctx, s, nodes, machines)
		if err == nil && done {
			err = t.remove(ctx, s)
		}
		if err != nil {
			failed = append(failed, err)
		}
		if err != nil || !done {
			left++
		}
	}
	return left, errors.Join(failed...)
}

// done reports whether a token has served its purpose or can't serve it any more.
func (t *Tokens) done(ctx context.Context, s *corev1.Secret, nodes client.Reader, machines Machines) (bool, error) {
	if _, good := t.read(s); !good {
		return true, nil
	}
	exists, err := machines.Exists(ctx, s.Annotations[ownerNote])
	if err != nil || !exists {
		return err == nil, err
	}
	var node corev1.Node
	if err := nodes.Get(ctx, types.NamespacedName{Name: s.Annotations[nodeNote]}, &node); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	// A Node that is older than the token is that of an earlier machine of the same name.
	return !node.CreationTimestamp.Before(&s.CreationTimestamp), nil
}
