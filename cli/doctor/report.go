package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/status"
)

// level is how bad a finding is.
type level string

const (
	good    level = "ok"
	warning level = "warning"
	bad     level = "error"
	skipped level = "skipped" // not known, and not needed
)

// The areas that are checked, in their order.
const (
	areaConnection  = "Connection"
	areaCluster     = "Cluster"
	areaManifests   = "Manifests"
	areaCredentials = "Credentials"
	areaPrivileges  = "Privileges"
)

// check is one finding.
type check struct {
	Area  string `json:"area"`
	Level level  `json:"level"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what the person can do
}

// Diagnosis has the findings about one cluster.
type Diagnosis struct {
	Provider  string                `json:"provider,omitempty"`
	Endpoints []string              `json:"endpoints"`
	OK        bool                  `json:"ok"`
	Manifests bool                  `json:"manifests"` // they were given
	Checks    []check               `json:"checks"`
	Needed    []privileges.Grant    `json:"needed,omitempty"`
	Missing   []privileges.Grant    `json:"missing,omitempty"`
	RootOnly  []privileges.RootOnly `json:"rootOnly,omitempty"`
	Commands  []string              `json:"commands,omitempty"`

	commandsFor string // what the commands do, for people
}

func (d *Diagnosis) has(l level) bool {
	return slices.ContainsFunc(d.Checks, func(c check) bool { return c.Level == l })
}

func (d *Diagnosis) count(l level) int {
	n := 0
	for _, c := range d.Checks {
		if c.Level == l {
			n++
		}
	}
	return n
}

// byArea are the checks with those of each area together, areas in the order in which they were
// begun.
func (d *Diagnosis) byArea() []check {
	at := map[string]int{}
	for i, c := range d.Checks {
		if _, begun := at[c.Area]; !begun {
			at[c.Area] = i
		}
	}
	return slices.SortedStableFunc(slices.Values(d.Checks), func(a, b check) int { return cmp.Compare(at[a.Area], at[b.Area]) })
}

// write prints the diagnosis for a person.
func (d *Diagnosis) write(w io.Writer, page status.Page) {
	title := strings.Join(d.Endpoints, ", ")
	if d.Provider != "" {
		title = "provider/" + d.Provider + "  " + title
	}
	fmt.Fprintln(w, page.Bold(title))
	area := ""
	for _, c := range d.byArea() {
		if c.Area != area {
			area = c.Area
			fmt.Fprintf(w, "\n%s\n", page.Bold(area))
		}
		c.write(w, page)
	}
	if len(d.Commands) > 0 {
		fmt.Fprintf(w, "\n%s\n", page.Bold(status.Wrap(d.commandsFor, page.Width, "")))
		for _, line := range d.Commands {
			// Never broken: they are to be copied.
			fmt.Fprintln(w, line)
		}
		if id := newToken(d.Commands); id != "" {
			fmt.Fprintln(w, status.Wrap(fmt.Sprintf("The secret of the token is shown once, when it is made. Set PVE_TOKEN_ID='%s' and PVE_TOKEN_SECRET then.", id), page.Width, ""))
		}
	}
	fmt.Fprintf(w, "\n%s\n", d.summary(page))
}

// newToken is the token that the commands make, if any.
func newToken(commands []string) string {
	for _, line := range commands {
		if words := strings.Fields(line); strings.HasPrefix(line, "pveum user token add ") && len(words) > 5 {
			return words[4] + "!" + words[5]
		}
	}
	return ""
}

func (c check) write(w io.Writer, page status.Page) {
	sign := map[level]string{good: page.Green("✓"), warning: page.Yellow("!"), bad: page.Red("✗"), skipped: page.Grey("·")}[c.Level]
	const indent = "    "
	width := page.Width
	if width > 0 {
		width = max(width-len(indent), 20)
	}
	text := status.Wrap(c.Text, width, indent)
	if c.Level == skipped {
		text = page.Grey(text)
	}
	fmt.Fprintf(w, "  %s %s\n", sign, text)
	if c.Do != "" {
		fmt.Fprintf(w, "%s%s\n", indent, page.Grey(status.Wrap(c.Do, width, indent)))
	}
}

// beyond is what isn't checked without manifests.
const beyond = " With -f, what manifests need is checked too: names and privileges."

// summary is the last line.
func (d *Diagnosis) summary(page status.Page) string {
	problems, warnings := d.count(bad), d.count(warning)
	switch {
	case problems > 0 && warnings > 0:
		return page.Red(fmt.Sprintf("%s to be solved, %s.", status.Count(problems, "problem"), status.Count(warnings, "warning")))
	case problems > 0:
		return page.Red(fmt.Sprintf("%s to be solved.", status.Count(problems, "problem")))
	case warnings > 0 && !d.Manifests:
		return page.Yellow(fmt.Sprintf("No problem with the connection and the cluster; %s.", status.Count(warnings, "warning"))) + beyond
	case warnings > 0:
		return page.Yellow(fmt.Sprintf("Nothing that is needed is missing; %s.", status.Count(warnings, "warning")))
	case d.Manifests:
		return page.Green("All is well: these manifests can be applied.")
	}
	return page.Green("No problem with the connection and the cluster.") + beyond
}
