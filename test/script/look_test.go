package script_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// simVM NAME [KEY=VALUE…] prints a VM as the simulator has it, and checks some of
// its options; an empty value means that it isn't there. With ! there must be no such
// VM.
func simVM(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: sim-vm NAME [KEY=VALUE…]")
	}
	has := map[string]string{}
	at(ts).Do(func(st *pvesim.State) {
		vm := sim.VM(st, args[0])
		if vm == nil {
			return
		}
		maps.Copy(has, vm.Conf)
		has["vmid"], has["node"], has["status"] = fmt.Sprint(vm.ID), vm.Node, "stopped"
		if vm.Run != nil {
			has["status"] = "running"
		}
		for k, v := range vm.Pending {
			has["pending "+k] = v
		}
		for id, pool := range st.Pools {
			if pool.VMs[vm.ID] {
				has["pool"] = id
			}
		}
		if f := st.Firewall.Files[fmt.Sprintf("vm/%d", vm.ID)]; f != nil {
			has["firewall"] = firewallText(f)
		}
		has["power"] = strings.Join(powerTasks(st, vm.ID), " ")
		has["snapshots"] = strings.Join(slices.Sorted(maps.Keys(vm.Snaps)), ",")
	})
	if (len(has) == 0) != neg {
		ts.Fatalf("VM %s: %v", args[0], has)
	}
	for _, k := range slices.Sorted(maps.Keys(has)) {
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", k, has[k])
	}
	for _, pair := range args[1:] {
		key, want, _ := strings.Cut(pair, "=")
		if has[key] != want {
			ts.Fatalf("VM %s has %s: %q, want %q", args[0], key, has[key], want)
		}
	}
}

// firewallText is a firewall in one line: options, then rules.
func firewallText(f *pvesim.FirewallFile) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(f.Options)) {
		parts = append(parts, k+"="+f.Options[k])
	}
	for _, r := range f.Rules {
		rule := []string{r["type"], r["action"]}
		for _, k := range []string{"macro", "proto", "dport", "source", "iface"} {
			if r[k] != "" {
				rule = append(rule, r[k])
			}
		}
		parts = append(parts, strings.Join(rule, " "))
	}
	return strings.Join(parts, ", ")
}

// powerTasks are the tasks that powered a VM on or off, in their order.
func powerTasks(st *pvesim.State, vmid int) []string {
	var tasks []*pvesim.TaskInfo
	for _, list := range st.Tasks {
		for _, t := range list {
			switch t.Type {
			case "qmstart", "qmstop", "qmshutdown", "qmreboot", "qmreset":
				if t.ID == fmt.Sprint(vmid) {
					tasks = append(tasks, t)
				}
			}
		}
	}
	slices.SortFunc(tasks, func(a, b *pvesim.TaskInfo) int { return a.Start.Compare(b.Start) })
	var types []string
	for _, t := range tasks {
		types = append(types, t.Type)
	}
	return types
}

// simList vms|volumes|tasks|requests|ha|shares|notes|world prints what there is. The world is all of it, but for
// what only tells of the past: tasks, DHCP's leases, counters.
func simList(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sim-list vms|volumes|tasks|requests|ha|shares|notes|world")
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	s := at(ts)
	if args[0] == "requests" {
		for _, r := range s.Requests(0) {
			fmt.Fprintf(ts.Stdout(), "%s %s %v\n", r.Method, r.URL, r.Params)
		}
		return
	}
	s.Do(func(st *pvesim.State) {
		switch args[0] {
		case "vms":
			for id, vm := range st.VMs {
				add("%d %s on %s", id, vm.Name(), vm.Node)
			}
		case "volumes":
			for at, space := range st.Spaces {
				for _, v := range space.Volumes {
					add("%s:%s", at.Storage, v.Name)
				}
			}
		case "tasks":
			for _, list := range st.Tasks {
				for _, t := range list {
					add("%s %s %s", t.Type, t.ID, t.Exit)
				}
			}
		case "world":
			now := *st
			now.Version, now.Serial, now.Tasks, now.DHCP, now.Kubes = 0, nil, nil, pvesim.DHCP{}, nil
			now.HA.Awake = false
			text, err := json.MarshalIndent(now, "", " ")
			ts.Check(err)
			add("%s", text)
		case "notes":
			for id, vm := range st.VMs {
				add("%d %s", id, unpacked(ts, vm.Conf["description"]))
			}
		case "shares":
			for id, m := range st.DirMaps {
				add("%s %s", id, strings.Join(m.Map, " "))
			}
		case "ha":
			for id, r := range st.HA.Resources {
				add("resource %s %v", id, r)
			}
			for id, r := range st.HA.Rules {
				add("rule %s %v", id, r)
			}
		default:
			ts.Fatalf("%s can't be listed", args[0])
		}
	})
	slices.Sort(lines)
	lines = append(lines, "")
	fmt.Fprint(ts.Stdout(), strings.Join(lines, "\n"))
}

// simAwait TYPE waits until a task of that type runs.
func simAwait(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		running := false
		at(ts).Do(func(st *pvesim.State) {
			for _, list := range st.Tasks {
				for _, t := range list {
					running = running || t.Type == args[0] && t.End.IsZero()
				}
			}
		})
		if running {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("no task %s runs", args[0])
}

// simAwaitFile FILE waits until there is a file.
func simAwaitFile(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("%s isn't written", args[0])
}

// simAwaitLists N waits until so many lists of the cluster were answered since a VM
// was locked: apply asks for one to plan, and for another one to begin with.
func simAwaitLists(ts *testscript.TestScript, neg bool, args []string) {
	var want int
	if _, err := fmt.Sscan(strings.Join(args, " "), &want); err != nil {
		ts.Fatalf("usage: sim-await-lists N")
	}
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if at(ts).lists()-at(ts).locked >= want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("so many lists aren't asked for")
}

// outLine TEXT checks that a line of the standard output is just that, but for
// spaces and what differs each time.
func outLine(ts *testscript.TestScript, neg bool, args []string) { hasLine(ts, "stdout", neg, args) }

// errLine is the same for the standard error.
func errLine(ts *testscript.TestScript, neg bool, args []string) { hasLine(ts, "stderr", neg, args) }

func hasLine(ts *testscript.TestScript, stream string, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: out|err 'LINE'")
	}
	text := simplified(ts, ts.ReadFile(stream))
	squeeze := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	want := squeeze(simplified(ts, args[0]))
	found := slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return squeeze(l) == want })
	if found == neg {
		ts.Fatalf("%s has line %q: %v, in\n%s", stream, want, found, text)
	}
}

// plain leaves out of the last output what differs each time, so that it can be
// compared as a whole.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	fmt.Fprint(ts.Stdout(), simplified(ts, stdout))
	fmt.Fprint(ts.Stderr(), simplified(ts, stderr))
}

var differs = []struct {
	is *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:8006"},
	{regexp.MustCompile(`UPID:[^\s"]+`), "UPID"},
	{regexp.MustCompile(`([0-9A-F]{2}:){31}[0-9A-F]{2}`), "FINGERPRINT"},
	{regexp.MustCompile(`\(\d+(\.\d+)?(ms|µs|s)\)`), "(#s)"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`), "DATE"},
	{regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?( s|s)\b`), "#s"},
	{regexp.MustCompile(` +#s`), " #s"}, // columns are as wide as they must be
	{regexp.MustCompile(` +AGE\b`), " AGE"},
	{regexp.MustCompile(`"seconds":[0-9.]+`), `"seconds":#`},
	{regexp.MustCompile(`creation-qemu=[\d.]+,ctime=\d+`), "creation-qemu=#,ctime=#"},
	{regexp.MustCompile(`192\.168\.77\.\d+`), "192.168.77.#"},
}

func simplified(ts *testscript.TestScript, text string) string {
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	for _, d := range differs {
		text = d.is.ReplaceAllString(text, d.to)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// edit FILE OLD NEW is what people do in an editor.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	old, to := strings.ReplaceAll(args[1], `\n`, "\n"), strings.ReplaceAll(args[2], `\n`, "\n")
	if !strings.Contains(text, old) {
		ts.Fatalf("%s has no %q", args[0], old)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, old, to, 1)), 0o600))
}

// helps checks that the help of each command has an example.
func helps(ts *testscript.TestScript, neg bool, args []string) {
	commands := [][]string{{}}
	for i := 0; i < len(commands); i++ {
		ts.Check(ts.Exec("proxplane", append(slices.Clone(commands[i]), "--help")...))
		text := ts.ReadFile("stdout")
		name := strings.Join(append([]string{"proxplane"}, commands[i]...), " ")
		if !strings.Contains(text, "\nExamples:\n  "+strings.SplitN(name, " completion", 2)[0]) && !strings.Contains(text, name+" ") {
			ts.Fatalf("%s --help has no example:\n%s", name, text)
		}
		if !strings.Contains(text, "\nExamples:\n") {
			ts.Fatalf("%s --help has no example:\n%s", name, text)
		}
		for _, m := range listedCommand.FindAllStringSubmatch(text, -1) {
			if m[1] != "help" {
				commands = append(commands, append(slices.Clone(commands[i]), m[1]))
			}
		}
	}
	if len(commands) < 20 {
		ts.Fatalf("there are only %d commands", len(commands))
	}
}

// listedCommand is a line of the lists of commands.
var listedCommand = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}[A-Z]`)

// exits STATUS COMMAND… checks the exit status of a command.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(siteKey{}).(*site)
	before := 0
	if s.Server != nil {
		before = len(s.Requests(0))
	}
	err := ts.Exec(args[1], args[2:]...)
	if args[1] == "proxplane" {
		s.judge(ts, args[2:], err == nil, before)
	}
	var failed *exec.ExitError
	status := 0
	if errors.As(err, &failed) {
		status = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(status) != args[0] {
		ts.Fatalf("%s ends with %d, want %s", strings.Join(args[1:], " "), status, args[0])
	}
}

// packedRecord is a record of a cluster in the notes of a machine.
var packedRecord = regexp.MustCompile(`"cluster":"([A-Za-z0-9_-]+)"`)

// unpacked are notes with the record of a cluster as it was before it was packed.
func unpacked(ts *testscript.TestScript, notes string) string {
	m := packedRecord.FindStringSubmatch(strings.ReplaceAll(notes, `\u002d`, "-"))
	if m == nil {
		return notes
	}
	raw, err := base64.RawURLEncoding.DecodeString(m[1])
	ts.Check(err)
	z, err := gzip.NewReader(bytes.NewReader(raw))
	ts.Check(err)
	text, err := io.ReadAll(z)
	ts.Check(err)
	return notes + "\n" + string(text)
}
