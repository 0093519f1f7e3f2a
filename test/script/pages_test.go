package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/pvesim"
)

// Pages that somebody can paste from the first block to the last work so, and show what is printed. A block of YAML whose
// first line is a comment with a name is that file; lab.yaml is the world of the simulator; "$ " comes before a command, "root@pve1:~# " before one on a host.
func TestWhatPagesShowWorks(t *testing.T) {
	for _, page := range []string{"addresses", "firewall", "images", "placement"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/" + page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			story := storyOf(t, string(text))
			for _, part := range []string{"\nproxplane apply ", "\nstdout ", "\n-- web.yaml --\n"} {
				if !strings.Contains(story, part) {
					t.Fatalf("the page has no %q:\n%s", part, story)
				}
			}
			file := filepath.Join(t.TempDir(), page+".txtar")
			if err := os.WriteFile(file, []byte(story), 0o600); err != nil {
				t.Fatal(err)
			}
			p := params(t, "9.2")
			p.Dir, p.Files = "", []string{file}
			testscript.Run(t, p)
		})
	}
}

// storyOf makes a story of the blocks of a page.
func storyOf(t *testing.T, page string) string {
	var files strings.Builder
	script, world := &strings.Builder{}, ""
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		name, rest, ok := strings.Cut(block[2], "\n")
		switch named := block[1] == "yaml" && ok && strings.HasPrefix(name, "# "); {
		case named && name == "# lab.yaml":
			// The simulator must take it as it stands in the page, without what the stories' worlds have beside it.
			w, err := pvesim.ParseWorld([]byte(block[2]))
			if err != nil {
				t.Fatal(err)
			}
			alone, err := pvesim.New(w)
			if err != nil {
				t.Fatal(err)
			}
			alone.Close()
			flow, err := yaml.YAMLToJSON([]byte(rest))
			if err != nil {
				t.Fatal(err)
			}
			world = " '" + string(flow) + "'"
		case named:
			fmt.Fprintf(&files, "-- %s --\n%s", strings.TrimPrefix(name, "# "), rest)
		case block[1] != "yaml":
			commands(t, script, block[2])
		}
	}
	return "sim-start" + world + "\n" + script.String() + files.String()
}

// commands writes what a block shows: commands, and what they print.
func commands(t *testing.T, script *strings.Builder, block string) {
	shown := false
	lines := strings.Split(block, "\n")
	for i, line := range lines {
		host, onHost := strings.CutPrefix(line, "root@pve1:~# ")
		command, here := strings.CutPrefix(line, "$ ")
		switch {
		case onHost:
			script.WriteString(atHost(t, host) + "\n")
		case strings.HasPrefix(command, "sed ") && here:
			script.WriteString("exec " + command + "\n")
		case here:
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "✗") {
				script.WriteString("! ")
			}
			script.WriteString(command + "\n")
			shown = true
		case shown && strings.TrimSpace(line) != "" && line != "…":
			fmt.Fprintf(script, "stdout '%s'\n", strings.ReplaceAll(pattern(line), "'", "''"))
		}
	}
}

// atHost is a command of a host as stories have it.
func atHost(t *testing.T, command string) string {
	words := strings.Fields(command)
	switch {
	case strings.HasPrefix(command, "pvesh create /cluster/") && len(words) == 5:
		return fmt.Sprintf("by-hand cluster POST %s %s=%s", strings.TrimPrefix(words[2], "/cluster"), strings.TrimPrefix(words[3], "--"), words[4])
	case strings.HasPrefix(command, "ha-manager crm-command node-maintenance ") && len(words) == 5:
		return fmt.Sprintf("by-hand maintenance %s %s", words[4], map[string]string{"enable": "on", "disable": "off"}[words[3]])
	}
	t.Fatalf("stories don't know %q", command)
	return ""
}

var blanks = regexp.MustCompile(` +`)

// pattern is a line with any numbers and any space.
func pattern(line string) string {
	return blanks.ReplaceAllString(number.ReplaceAllString(regexp.QuoteMeta(strings.TrimRight(line, " ")), `[0-9a-f]+`), ` +`)
}
