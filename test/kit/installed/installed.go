// Package installed has proxplane run as the chart runs it: with the arguments of its Deployment and the rights of its service
// account, which an API server checks.
package installed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/tool"
)

const namespace, release = "proxplane", "pp"

// Chart is the chart in a control plane, without Pods.
type Chart struct {
	// Kubeconfig has the rights that the chart gives.
	Kubeconfig string
	// Args are the arguments that the chart gives, but for where to listen.
	Args []string

	plane *controlplane.Plane
}

// Install installs the chart with some values ("a.b=c"). Files go into a folder.
func Install(ctx context.Context, plane *controlplane.Plane, dir string, values ...string) (*Chart, error) {
	objects, err := render(ctx, dir, values)
	if err != nil {
		return nil, err
	}
	c := &Chart{Kubeconfig: filepath.Join(dir, "operator.kubeconfig"), plane: plane}
	var rights bytes.Buffer
	for _, text := range objects {
		var kind struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
			return nil, fmt.Errorf("read what the chart renders: %w\n%s", err, text)
		}
		switch kind.Kind {
		case "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			rights.WriteString("---\n" + text + "\n")
		case "Deployment":
			if err := c.readArgs(text); err != nil {
				return nil, err
			}
		}
	}
	if _, err := c.kubectl(ctx, nil, "create", "namespace", namespace); err != nil {
		return nil, err
	}
	if _, err := c.kubectl(ctx, &rights, "apply", "-f", "-"); err != nil {
		return nil, err
	}
	return c, c.login(ctx)
}

// render renders the chart, by helm.
func render(ctx context.Context, dir string, values []string) ([]string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	at := strings.TrimSpace(string(root))
	set, err := tool.Open(ctx, filepath.Join(at, "test", "chart", "helm"))
	if err == nil {
		err = set.Build(ctx, os.Stderr)
	}
	if err != nil {
		return nil, err
	}
	args := []string{"template", release, filepath.Join(at, "deploy", "chart"), "-n", namespace}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	cmd := exec.CommandContext(ctx, set.Path("helm"), args...)
	cmd.Env = append(cmd.Environ(), "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("helm template: %w", err)
	}
	return strings.Split("\n"+string(out), "\n---\n"), nil
}

// readArgs reads the arguments of the Deployment.
func (c *Chart) readArgs(text string) error {
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(text), &d); err != nil {
		return fmt.Errorf("read the Deployment: %w", err)
	}
	for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
		if !strings.HasPrefix(arg, "--metrics-address=") && !strings.HasPrefix(arg, "--health-address=") {
			c.Args = append(c.Args, arg)
		}
	}
	c.Args = append(c.Args, "--metrics-address=", "--health-address=")
	return nil
}

// login writes the kubeconfig of the service account.
func (c *Chart) login(ctx context.Context) error {
	token, err := c.kubectl(ctx, nil, "-n", namespace, "create", "token", release+"-proxplane", "--duration", "24h")
	if err != nil {
		return err
	}
	admin, err := os.ReadFile(c.plane.Kubeconfig)
	if err != nil {
		return err
	}
	var config map[string]any
	if err := yaml.Unmarshal(admin, &config); err != nil {
		return err
	}
	config["users"] = []any{map[string]any{"name": "admin", "user": map[string]any{"token": strings.TrimSpace(token)}}}
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(c.Kubeconfig, text, 0o600)
}

// Refused are the requests that the chart's rights weren't enough for.
func (c *Chart) Refused() ([]string, error) {
	calls, err := c.plane.Calls()
	if err != nil {
		return nil, err
	}
	asked := false
	var list []string
	for _, call := range calls {
		if call.User != "system:serviceaccount:"+namespace+":"+release+"-proxplane" || call.Resource == "" {
			continue
		}
		if asked = true; !call.Allowed {
			list = append(list, strings.TrimSuffix(fmt.Sprintf("%s %s/%s", call.Verb, call.Resource, call.Subresource), "/")+" of "+call.Group+" in "+call.Namespace)
		}
	}
	if !asked {
		return nil, errors.New("the operator has asked for nothing with the chart's rights")
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Verdict is the exit code of a suite that ended with another one: 1 if the chart's rights weren't enough.
func (c *Chart) Verdict(code int) int {
	refused, err := c.Refused()
	if err == nil && len(refused) == 0 || code != 0 {
		return code
	}
	fmt.Fprintf(os.Stderr, "FAIL: the chart's rights: %v\nthe operator may not %s\n", err, strings.Join(refused, "\nthe operator may not "))
	return 1
}

func (c *Chart) kubectl(ctx context.Context, in io.Reader, args ...string) (string, error) {
	var said bytes.Buffer
	cmd := c.plane.Kubectl(ctx, args...)
	cmd.Stdin, cmd.Stderr = in, &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w\n%s", args[0], err, &said)
	}
	return string(out), nil
}
