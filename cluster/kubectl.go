package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// ErrNoAPI is the error that no control plane answers.
var ErrNoAPI = errors.New("no control plane answers")

// kubectl runs kubectl in a control plane, by its guest agent: whoever may log in to Proxmox needs
// neither a way to the machines' network nor a kubeconfig. See docs/adr.
func (c *Cluster) kubectl(ctx context.Context, g *model.Guest, input string, args ...string) (string, error) {
	return output(ctx, c.in, g, input, append(append([]string{}, c.distribution().kubectl()...), args...)...)
}

// ask runs kubectl in the first control plane that answers.
func (c *Cluster) ask(ctx context.Context, args ...string) (string, error) {
	return c.askBut(ctx, "", "", args...)
}

// askBut does the same, but not in one of them: it is to go.
func (c *Cluster) askBut(ctx context.Context, but, input string, args ...string) (string, error) {
	var errs []error
	for _, m := range c.Members {
		if !m.Server() || m.Name == but || m.Guest.Status != model.StatusRunning {
			continue
		}
		out, err := c.kubectl(ctx, m.Guest, input, args...)
		var failed *RunError
		if err == nil || errors.As(err, &failed) && !refused(failed.Said) || ctx.Err() != nil {
			return out, err
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		if but != "" {
			return "", fmt.Errorf("%w: none but %s runs", ErrNoAPI, but)
		}
		return "", fmt.Errorf("%w: none of them runs", ErrNoAPI)
	}
	return "", fmt.Errorf("%w: %w", ErrNoAPI, errs[len(errs)-1])
}

// refused reports whether kubectl says that there is no API server, rather than what that says.
func refused(said string) bool {
	for _, text := range []string{"was refused", "Unable to connect", "no such file", "i/o timeout", "etcdserver", "EOF", "ServiceUnavailable", "the server is currently unable"} {
		if strings.Contains(said, text) {
			return true
		}
	}
	return false
}

// list reads objects.
func list[T any](ctx context.Context, c *Cluster, but string, args ...string) ([]T, error) {
	text, err := c.askBut(ctx, but, "", append(args, "-o", "json")...)
	if err != nil {
		return nil, err
	}
	var all struct {
		Items []T `json:"items"`
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("read what kubectl %s prints: %w", strings.Join(args, " "), err)
	}
	return all.Items, nil
}

// kubeNodes are the nodes that Kubernetes knows, by name.
func (c *Cluster) kubeNodes(ctx context.Context, but string) (map[string]corev1.Node, error) {
	all, err := list[corev1.Node](ctx, c, but, "get", "nodes")
	if err != nil {
		return nil, err
	}
	nodes := map[string]corev1.Node{}
	for _, n := range all {
		nodes[n.Name] = n
	}
	return nodes, nil
}

// has reports whether a node has a condition.
func has(n corev1.Node, kind string) bool {
	for _, c := range n.Status.Conditions {
		if string(c.Type) == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
