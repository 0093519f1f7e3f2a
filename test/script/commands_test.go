package script_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/cli"
)

// allCommands are the commands that the help lists, each with those above it.
var allCommands = sync.OnceValue(func() [][]string {
	commands := [][]string{{}}
	for i := 0; i < len(commands); i++ {
		var out strings.Builder
		cli.Main(context.Background(), append(slices.Clone(commands[i]), "--help"), strings.NewReader(""), &out, &out)
		for _, m := range listedCommand.FindAllStringSubmatch(out.String(), -1) {
			commands = append(commands, append(slices.Clone(commands[i]), m[1]))
		}
	}
	return commands[1:]
})

// commandNames are the first words of all commands.
var commandNames = sync.OnceValue(func() []string {
	names := []string{"help"}
	for _, c := range allCommands() {
		if len(c) == 1 {
			names = append(names, c[0])
		}
	}
	return names
})

// Every command is run in a story whose sentences are compared with the simulator, both so
// that it succeeds and with a mistake.
func TestEveryCommandIsInAStory(t *testing.T) {
	stories, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, story := range stories {
		text, err := os.ReadFile(story)
		if err != nil {
			t.Fatal(err)
		}
		script.Write(text)
	}
	for _, c := range allCommands() {
		path := strings.Join(c, " ")
		if slices.ContainsFunc(allCommands(), func(o []string) bool { return len(o) > len(c) && slices.Equal(o[:len(c)], c) }) {
			continue // it only groups others
		}
		for _, way := range []struct{ how, line string }{
			{"successfully", `(?m)^(exec |exits [02] )?proxplane ` + path + `\b`},
			{"with a mistake", `(?m)^(! (exec )?|exits 1 )proxplane ` + path + `\b`},
		} {
			if exempt[path] != way.how && !regexp.MustCompile(way.line).MatchString(script.String()) {
				t.Errorf("no story runs proxplane %s %s", path, way.how)
			}
		}
	}
	if len(allCommands()) < 45 {
		t.Errorf("only %d commands were found", len(allCommands()))
	}
}

// exempt are the ways of commands that no story can have: they run until they are interrupted,
// or need a host that isn't there. Tests elsewhere have them.
var exempt = map[string]string{
	"ssh":          "successfully", // cli/ssh_test.go
	"operator":     "successfully", // test/operator
	"hook install": "successfully", // cli/hook_test.go
}
