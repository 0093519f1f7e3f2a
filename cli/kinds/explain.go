package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/deploy/crds"
	"github.com/proxplane/proxplane/spec/suggest"
	"github.com/proxplane/proxplane/status"
)

// NewExplain returns the command `proxplane explain`.
func NewExplain(u *ui.UI) *cobra.Command {
	deep := false
	cmd := &cobra.Command{
		Use:   "explain [KIND[.FIELD…]]",
		Short: "Show the fields of a kind of manifest",
		Long: `Show what a kind of manifest or one of its fields means, which values it takes, and
the fields below it. Without an argument, list the kinds. No Proxmox is needed.`,
		Example: `  proxplane explain
  proxplane explain vm
  proxplane explain vm.spec.disks
  proxplane explain VirtualMachine.spec.networks.staticIP
  proxplane explain class --recursive`,
		Args:              command.Takes(0, 1),
		ValidArgsFunction: completeFields,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return explainKinds(u)
			}
			return explainField(u, args[0], deep)
		},
	}
	cmd.Flags().BoolVar(&deep, "recursive", false, "show the fields of all levels, without their texts")
	return cmd
}

// explainKinds lists the kinds.
func explainKinds(u *ui.UI) error {
	all, err := crds.All()
	if err != nil {
		return err
	}
	t := status.Table{Columns: []status.Column{{Name: "KIND"}, {Name: "SHORT"}, {Name: "MEANING", Flex: true}}}
	for _, d := range all {
		var top crds.Property
		if err := d.Schema(&top); err != nil {
			return err
		}
		first, _, _ := strings.Cut(top.Text(), ". ")
		t.Rows = append(t.Rows, []string{d.Kind(), short(d), strings.TrimSuffix(first, ".")})
	}
	_, err = fmt.Fprint(u.Out, t.Text(u.Layout(false)))
	return err
}

// field is a field that somebody has asked for.
type field struct {
	of   *crds.Definition
	path []string
	*crds.Property
}

// findField finds KIND.FIELD.FIELD. What is below spec can be named without it.
func findField(what string) (field, error) {
	words := strings.Split(strings.TrimSuffix(what, "."), ".")
	d, err := FindDefinition(words[0])
	if err != nil {
		return field{}, err
	}
	f := field{of: d, Property: &crds.Property{}}
	if err := d.Schema(f.Property); err != nil {
		return field{}, err
	}
	for i, word := range words[1:] {
		word, _, _ = strings.Cut(word, "[") // disks[0] is one of disks
		below := f.Fields()
		if spec := below["spec"]; i == 0 && below[word] == nil && spec != nil {
			f.path, below = append(f.path, "spec"), spec.Fields()
		}
		if below[word] == nil {
			return f, f.unknown(word, below)
		}
		f.path, f.Property = append(f.path, word), below[word]
	}
	return f, nil
}

func (f field) unknown(word string, below map[string]*crds.Property) error {
	err := fmt.Errorf("%s has no field %q", strings.Join(append([]string{f.of.Kind()}, f.path...), "."), word)
	names := slices.Sorted(maps.Keys(below))
	if near, ok := suggest.Nearest(word, names); ok {
		return ui.Advise(err, "Did you mean "+near+"?")
	}
	if len(names) == 0 {
		return ui.Advise(err, "It has no fields: its type is "+typeOf(f.Property)+".")
	}
	return ui.Advise(err, "Its fields are "+strings.Join(names, ", ")+".")
}

// typeOf is the type of a property, for people.
func typeOf(p *crds.Property) string {
	switch {
	case p.Items != nil:
		return "[]" + typeOf(p.Items)
	case p.Values != nil:
		return "map[string]" + typeOf(p.Values)
	case p.IntOrString && p.Pattern == "":
		return "integer or percentage" // only quantities have a pattern
	case p.IntOrString:
		return "quantity"
	case p.Type == "":
		return "any"
	}
	return p.Type
}

// values says what a property can be, where not everything of its type will do.
func values(p *crds.Property) string {
	var parts []string
	one := p
	if p.Items != nil {
		one = p.Items
	}
	if len(one.Enum) > 0 {
		var words []string
		for _, v := range one.Enum {
			words = append(words, fmt.Sprint(v))
		}
		parts = append(parts, "one of "+strings.Join(words, ", "))
	}
	switch {
	case one.Minimum != nil && one.Maximum != nil:
		parts = append(parts, "from "+number(*one.Minimum)+" to "+number(*one.Maximum))
	case one.Minimum != nil:
		parts = append(parts, "at least "+number(*one.Minimum))
	case one.Maximum != nil:
		parts = append(parts, "at most "+number(*one.Maximum))
	}
	if p.Default != nil {
		b, _ := json.Marshal(p.Default)
		parts = append(parts, "default "+string(b))
	}
	return strings.Join(parts, "; ")
}

// number writes a bound as people write it: 999999999, not 9.99999999e+08.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// explainField writes what a kind or a field means.
func explainField(u *ui.UI, what string, deep bool) error {
	f, err := findField(what)
	if err != nil {
		return err
	}
	width := u.Page(u.Out).Width
	if width == 0 {
		width = command.HelpWidth
	}
	page := u.Page(u.Out)
	fmt.Fprintf(u.Out, "%s     %s\n%s  %s\n", page.Bold("KIND:"), f.of.Kind(), page.Bold("VERSION:"), f.of.APIVersion())
	if len(f.path) > 0 {
		fmt.Fprintf(u.Out, "%s    %s <%s>\n", page.Bold("FIELD:"), strings.Join(f.path, "."), typeOf(f.Property))
	}
	if v := values(f.Property); v != "" {
		fmt.Fprintf(u.Out, "%s   %s\n", page.Bold("VALUES:"), v)
	}
	if text := f.Text(); text != "" {
		fmt.Fprintf(u.Out, "\n%s\n", status.Wrap(text, width, ""))
	}
	if len(f.path) == 0 && f.Properties["spec"] != nil {
		f.Property, f.path = f.Properties["spec"], []string{"spec"} // the rest is the same for all kinds
	}
	if len(f.Fields()) == 0 {
		return nil
	}
	fmt.Fprintf(u.Out, "\n%s\n", page.Bold("FIELDS of "+strings.Join(f.path, ".")+":"))
	if deep {
		tree(f.Property, u, "  ")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.Fields())) {
		p := f.Fields()[name]
		line := fmt.Sprintf("  %s <%s>", name, typeOf(p))
		if f.Requires(name) {
			line += " required"
		}
		if v := values(p); v != "" {
			line = status.Wrap(line+", "+v, width, "      ")
		}
		fmt.Fprintln(u.Out, line)
		if text := p.Text(); text != "" {
			fmt.Fprintln(u.Out, status.Wrap("      "+text, width, "      "))
		}
	}
	return nil
}

// tree writes the names and types of all fields below.
func tree(p *crds.Property, u *ui.UI, indent string) {
	for _, name := range slices.Sorted(maps.Keys(p.Fields())) {
		below := p.Fields()[name]
		required := ""
		if p.Requires(name) {
			required = " required"
		}
		fmt.Fprintf(u.Out, "%s%s <%s>%s\n", indent, name, typeOf(below), required)
		tree(below, u, indent+"  ")
	}
}

// short is the shortest name of a kind.
func short(d *crds.Definition) string {
	return slices.MinFunc(names(d), func(a, b string) int { return len(a) - len(b) })
}

// completeFields completes KIND.FIELD.
func completeFields(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before, _, dotted := cutLast(word, ".")
	if !dotted {
		all, err := crds.All()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var words []string
		for _, d := range all {
			words = append(words, d.Kind(), short(d))
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	f, err := findField(before)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(f.Fields())) {
		words = append(words, before+"."+name)
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// cutLast cuts a text at the last separator.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
