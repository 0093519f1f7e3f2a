package target

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
)

// FieldManager is who we are when we make objects.
const FieldManager = "kubectl-proxplane"

// Printing is how objects are made and shown, as of kubectl create.
type Printing struct {
	DryRun, Output string
}

func (p *Printing) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.DryRun, "dry-run", "none", "`MODE`: none creates the objects, server has Kubernetes check them, client only prints them")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
	cmd.Flags().StringVarP(&p.Output, "output", "o", "", "`FORMAT` in which objects are shown: name, yaml or json")
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server", "client"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"name", "yaml", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (p *Printing) Check() error {
	if !slices.Contains([]string{"none", "server", "client"}, p.DryRun) {
		return fmt.Errorf("--dry-run=%s: want none, server or client", p.DryRun)
	}
	return command.CheckOutput(p.Output, "name", "yaml", "json")
}

// Create makes an object, as far as that is asked for.
func (p *Printing) Create(ctx context.Context, n *Namespace, o client.Object) error {
	options := []client.CreateOption{client.FieldOwner(FieldManager)}
	switch p.DryRun {
	case "client":
		return nil
	case "server":
		options = append(options, client.DryRunAll)
	}
	return n.Fail(client.WithFieldValidation(n.Client, metav1.FieldValidationStrict).Create(ctx, o, options...))
}

// Show prints an object, in the words of kubectl.
func (p *Printing) Show(u *ui.UI, o client.Object, done string) error {
	kind := o.GetObjectKind().GroupVersionKind()
	if kind.Empty() { // the client leaves it out of what it has read
		kind = schema.FromAPIVersionAndKind(api.APIVersion, manifest.KindOf(o))
		o.GetObjectKind().SetGroupVersionKind(kind)
	}
	name := fmt.Sprintf("%s.%s/%s", strings.ToLower(kind.Kind), kind.Group, o.GetName())
	var text []byte
	var err error
	switch p.Output {
	case "":
		if p.DryRun != "none" {
			done += map[string]string{"server": " (server dry run)", "client": " (dry run)"}[p.DryRun]
		}
		u.Say("%s %s", name, done)
		return nil
	case "name":
		u.Say("%s", name)
		return nil
	case "json":
		text, err = json.MarshalIndent(o, "", "    ")
		text = append(text, '\n')
	default:
		text, err = yaml.Marshal(o)
	}
	if err == nil {
		_, err = u.Out.Write(text)
	}
	return err
}
