package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxplane/proxplane/cli"
)

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")

// The commands of README work in the order in which they stand there, with the
// manifest that stands there.
func TestWhatREADMESaysWorks(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var script, manifest strings.Builder
	script.WriteString("sim-start\nenv PVE_PASSWORD=proxplane\n") // which somebody would type
	for _, block := range fence.FindAllStringSubmatch(string(readme), -1) {
		if block[1] == "yaml" {
			manifest.WriteString(block[2])
			continue
		}
		for line := range strings.Lines(block[2]) {
			command, _, _ := strings.Cut(line, " #")
			switch command = strings.TrimSpace(command); {
			case strings.HasPrefix(command, "proxplane sim "): // there is one
			case strings.HasPrefix(command, "proxplane "):
				script.WriteString(command + "\n")
			case strings.HasPrefix(command, "sed "):
				script.WriteString("exec " + command + "\n")
			}
		}
	}
	if !strings.Contains(script.String(), "proxplane apply") || manifest.Len() == 0 {
		t.Fatalf("README has neither commands nor a manifest:\n%s%s", &script, &manifest)
	}
	script.WriteString("sim-vm web-server status=running\n-- machines.yaml --\n" + manifest.String())
	file := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := params(t, "9.2")
	p.Dir, p.Files = "", []string{file}
	testscript.Run(t, p)
}

var number = regexp.MustCompile(`\d+`)

// alike leaves out of a line what is another time otherwise: ports, VMIDs, seconds.
func alike(line string) string {
	return strings.Join(strings.Fields(number.ReplaceAllString(line, "0")), " ")
}

// abridges reports whether a line is another one in which some text is left out, for
// each of which it has an ellipsis.
func abridges(short, line string) bool {
	for part := range strings.SplitSeq(short, "…") {
		_, rest, ok := strings.Cut(line, strings.TrimSpace(part))
		if !ok {
			return false
		}
		line = rest
	}
	return true
}

func TestREADMEShowsWhatTheDemoDoes(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const first = "$ proxplane apply -f quickstart\n"
	_, block, found := strings.Cut(string(readme), "```\n"+first)
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("README doesn't show what %s does", first)
	}
	var out strings.Builder
	if code := cli.Main(t.Context(), []string{"demo"}, strings.NewReader(""), &out, &out); code != 0 {
		t.Fatalf("exit status %d\n%s", code, &out)
	}
	happened := strings.Split(out.String(), "\n")
	for line := range strings.Lines(block) {
		if !slices.ContainsFunc(happened, func(l string) bool { return abridges(alike(line), alike(l)) }) {
			t.Errorf("README shows %q, and the demo doesn't", line)
		}
	}
}

// typed is a command in running text, or in a block.
var typed = regexp.MustCompile("(?m)`proxplane ([^`\n]+)`|^(?:\\$ )?proxplane ([^\n]+)$")

// Commands that the documentation shows have the flags that it shows.
func TestDocumentedCommandsExist(t *testing.T) {
	var script strings.Builder
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md", "../../examples/README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typed.FindAllStringSubmatch(string(text), -1) {
			command := m[1] + m[2]
			if strings.ContainsAny(command, "[]") || !strings.Contains("abcdefghijklmnopqrstuvwxyz-", command[:1]) {
				continue // a synopsis, or a sentence that begins with the name
			}
			for _, end := range []string{" #", " |", " >", " &", "  "} {
				command, _, _ = strings.Cut(command, end)
			}
			if words := strings.Fields(command); slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }) || len(words) < 3 {
				// Of a command that isn't there --help is that of all commands.
				fmt.Fprintf(&script, "proxplane %s --help\nstdout '^  proxplane %s'\n", command, words[0])
			}
		}
	}
	file := filepath.Join(t.TempDir(), "documented.txtar")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := params(t, "9.2")
	p.Dir, p.Files = "", []string{file}
	testscript.Run(t, p)
}
