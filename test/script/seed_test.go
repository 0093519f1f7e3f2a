package script_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/guestos"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// simSeed NAME prints what a machine finds in its first-boot drive: its files, and those that an Ignition config among them
// would write.
func simSeed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sim-seed NAME")
	}
	node, drives := "", []string(nil)
	at(ts).Do(func(st *pvesim.State) {
		if vm := sim.VM(st, args[0]); vm != nil {
			node = vm.Node
			for _, value := range vm.Conf {
				if volume, _, _ := strings.Cut(value, ","); strings.Contains(volume, ":iso/") {
					drives = append(drives, volume)
				}
			}
		}
	})
	if len(drives) != 1 {
		ts.Fatalf("the drives of VM %s are %v", args[0], drives)
	}
	data, err := at(ts).ReadVolume(node, drives[0])
	ts.Check(err)
	disc, ok := guestos.OpenISO(data)
	if !ok {
		ts.Fatalf("%s isn't a disc", drives[0])
	}
	files := disc.Files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(ts.Stdout(), "== %s\n%s\n", name, files[name])
		ignited(ts, files[name])
	}
}

// ignited prints the files that an Ignition config writes.
func ignited(ts *testscript.TestScript, text string) {
	var config struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if json.Unmarshal([]byte(text), &config) != nil {
		return
	}
	for _, f := range config.Storage.Files {
		escaped, ok := strings.CutPrefix(f.Contents.Source, "data:,")
		content, err := url.PathUnescape(escaped)
		if err != nil || !ok {
			ts.Fatalf("%s is %s (%v)", f.Path, f.Contents.Source, err)
		}
		fmt.Fprintf(ts.Stdout(), "== %s\n%s\n", f.Path, content)
	}
}
