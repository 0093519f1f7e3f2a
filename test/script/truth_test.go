package script_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/status"
)

// program runs proxplane in a story, and compares every sentence of its output that says
// how machines are with the machines that the simulator has. "exec proxplane" does without:
// where something goes on in the background, what was so needn't be so any more.
func program(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(siteKey{}).(*site)
	before := 0
	if s.Server != nil {
		before = len(s.Requests(0))
	}
	err := ts.Exec("proxplane", args...)
	s.judge(ts, args, err == nil, before)
	switch {
	case err == nil && neg:
		ts.Fatalf("unexpected command success")
	case err != nil && !neg:
		ts.Fatalf("unexpected command failure")
	}
}

// judge ends a story in which proxplane has said something that isn't so.
func (s *site) judge(ts *testscript.TestScript, args []string, succeeded bool, before int) {
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	for _, wrong := range unknownCommands(stdout + stderr) {
		ts.Fatalf("%s says to run %q, which isn't a command", strings.Join(args, " "), wrong)
	}
	if s.Server == nil || len(s.all) > 1 || len(args) == 0 {
		return
	}
	var files []string
	for _, f := range filesOf(args) {
		if text, err := os.ReadFile(ts.MkAbs(f)); err == nil {
			files = append(files, string(text))
		}
	}
	var wrong []string
	addresses := map[int][]netip.Prefix{}
	for id := range s.vmids() {
		addresses[id] = s.Addresses(id)
	}
	s.Do(func(st *pvesim.State) {
		w := world{st.VMs, addresses}
		wrong = append(w.untrue(stdout), w.untrue(stderr)...)
		if succeeded && green(args[0], stdout) {
			wrong = append(wrong, w.unlike(files)...)
		}
	})
	if readOnly[args[0]] {
		for _, r := range s.Requests(before) {
			if r.Method != "GET" && !strings.HasSuffix(r.URL, "/access/ticket") {
				wrong = append(wrong, fmt.Sprintf("it only looks, and sends %s %s", r.Method, r.URL))
			}
		}
	}
	if len(wrong) > 0 {
		ts.Fatalf("proxplane %s: %s", strings.Join(args, " "), strings.Join(wrong, "; "))
	}
}

// readOnly are the commands that change nothing in Proxmox.
var readOnly = map[string]bool{
	"plan": true, "diff": true, "validate": true, "explain": true, "schema": true, "get": true, "describe": true,
	"doctor": true, "events": true, "logs": true, "top": true, "wait": true, "version": true, "context": true, "init": true, "man": true,
}

// filesOf are the files that a command line names with -f.
func filesOf(args []string) (files []string) {
	for i, a := range args[:max(0, len(args)-1)] {
		if a == "-f" || a == "--filename" {
			files = append(files, args[i+1])
		}
	}
	return files
}

// green reports whether an output says that the manifests are as they should be.
func green(command, out string) bool {
	return (command == "apply" || command == "plan") && regexp.MustCompile(`(?m)^(Nothing to do|Done): \d+ objects? up to date[.,]`).MatchString(out)
}

// world is what the simulator has, by VMID.
type world struct {
	vms       map[int]*pvesim.VM
	addresses map[int][]netip.Prefix
}

// named are the machines of a name; ours are those with proxplane's tags.
func (w world) named(name string, ours bool) (list []*pvesim.VM) {
	for _, id := range slices.Sorted(maps.Keys(w.vms)) {
		if vm := w.vms[id]; vm.Name() == name && (!ours || marked(vm)) {
			list = append(list, vm)
		}
	}
	return list
}

func marked(vm *pvesim.VM) bool {
	tags := strings.FieldsFunc(vm.Conf["tags"], func(r rune) bool { return r == ';' || r == ',' })
	return slices.ContainsFunc(tags, model.IsMark)
}

func state(vm *pvesim.VM) string {
	switch {
	case vm.Run == nil:
		return "stopped"
	case !vm.Run.Paused.IsZero():
		return "paused"
	}
	return "running"
}

var (
	ended     = regexp.MustCompile(`^✓ vm/(\S+) +(running again|running|stopped|gone|released|ready)(  +\S+)?$`)
	snapped   = regexp.MustCompile(`^✓ vm/(\S+) +(take|delete) snapshot (\S+)(  +\S+)?$`)
	already   = regexp.MustCompile(`^vm/\S+ \((\d+)\) is (running|stopped) already\.$`)
	unnamed   = regexp.MustCompile(`no VM is named "([^"]+)"`)
	numbered  = regexp.MustCompile(`there is no VM (\d+)$`)
	tableHead = regexp.MustCompile(`^NAME +(STATE +NODE +VMID|VMID +NODE +STATE)`) // of get and apply, or of top
	asleep    = regexp.MustCompile(`^✓ vm/(\S+)  is suspended to disk$`)
	cells     = regexp.MustCompile(`  +`) // between the cells of a row
	told      = regexp.MustCompile(`(?:^|[ ("])proxplane ([a-z]+)`)
)

// untrue are the sentences of an output that aren't so.
func (w world) untrue(out string) (wrong []string) {
	wrong = w.untrueValues(out)
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		claim := ""
		switch {
		case ended.MatchString(line):
			m := ended.FindStringSubmatch(line)
			claim = w.ended(m[1], m[2])
		case snapped.MatchString(line):
			m := snapped.FindStringSubmatch(line)
			there := slices.ContainsFunc(w.named(m[1], false), func(vm *pvesim.VM) bool { return vm.Snaps[m[3]] != nil })
			if there != (m[2] == "take") {
				claim = fmt.Sprintf("%s has snapshot %s: %v", m[1], m[3], there)
			}
		case asleep.MatchString(line):
			if list := w.named(asleep.FindStringSubmatch(line)[1], false); !slices.ContainsFunc(list, func(vm *pvesim.VM) bool { return vm.Conf["lock"] == "suspended" && vm.Run == nil }) {
				claim = "none of that name is"
			}
		case already.MatchString(line):
			m := already.FindStringSubmatch(line)
			if vm := w.numbered(m[1]); vm == nil || state(vm) != m[2] {
				claim = "it isn't"
			}
		case unnamed.MatchString(line):
			if there := w.named(unnamed.FindStringSubmatch(line)[1], false); len(there) > 0 {
				claim = fmt.Sprintf("VM %d is", there[0].ID)
			}
		case numbered.MatchString(line):
			if w.numbered(numbered.FindStringSubmatch(line)[1]) != nil {
				claim = "there is"
			}
		case tableHead.MatchString(line):
			wrong = append(wrong, w.rows(cells.Split(line, -1), lines[i+1:])...)
		}
		if claim != "" {
			wrong = append(wrong, fmt.Sprintf("it says %q, but %s", line, claim))
		}
	}
	return wrong
}

// untrueValues are the machines in JSON, one value or one in each line, that aren't as it says.
func (w world) untrueValues(out string) (wrong []string) {
	if !strings.HasPrefix(out, "{") && !strings.HasPrefix(out, "[") {
		return nil
	}
	for in := json.NewDecoder(strings.NewReader(out)); ; {
		var value any
		if in.Decode(&value) != nil {
			return wrong
		}
		wrong = append(wrong, w.unlikeValue(value)...)
	}
}

// unlikeValue looks for machines in a value, and compares them with those that there are.
func (w world) unlikeValue(value any) (wrong []string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			wrong = append(wrong, w.unlikeValue(one)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			wrong = append(wrong, w.unlikeValue(v[key])...)
		}
		id, numbered := v["vmid"].(float64)
		said, _ := v["state"].(string)
		vm := w.vms[int(id)]
		switch {
		case !numbered || !slices.Contains([]string{"running", "stopped", "paused", "absent"}, said):
			return wrong // it is none, or nothing is said of it
		case said == "absent":
			if vm != nil && vm.Name() == v["name"] && marked(vm) {
				wrong = append(wrong, fmt.Sprintf("%s is said to be absent, and is VM %d", vm.Name(), vm.ID))
			}
			return wrong
		case vm == nil:
			return append(wrong, fmt.Sprintf("VM %d is said to be %s, and isn't there", int(id), said))
		case said != state(vm):
			wrong = append(wrong, fmt.Sprintf("VM %d is said to be %s, and is %s", vm.ID, said, state(vm)))
		}
		if node, ok := v["node"].(string); ok && node != vm.Node {
			wrong = append(wrong, fmt.Sprintf("VM %d is said to be on %s, and is on %s", vm.ID, node, vm.Node))
		}
		if _, isLoad := v["memoryOfBytes"]; !isLoad {
			bytes, ok := v["memoryBytes"].(float64)
			if ok && bytes > 0 && status.Size(int64(bytes)) != memory(vm) {
				wrong = append(wrong, fmt.Sprintf("VM %d is said to have %s of memory, and has %s", vm.ID, status.Size(int64(bytes)), memory(vm)))
			}
		}
	}
	return wrong
}

func (w world) numbered(id string) *pvesim.VM {
	n, _ := strconv.Atoi(id)
	return w.vms[n]
}

// ended compares what became of a machine with what is said to have become of it.
func (w world) ended(name, said string) string {
	all, ours := w.named(name, false), w.named(name, true)
	switch {
	case said == "gone" && len(ours) > 0:
		return fmt.Sprintf("VM %d is there", ours[0].ID)
	case said == "released" && (len(all) == 0 || len(ours) > 0):
		return fmt.Sprintf("there are %d VMs of that name, %d with proxplane's tags", len(all), len(ours))
	case said == "ready" && len(ours) == 0:
		return "there is no such VM"
	case strings.HasPrefix(said, "running") || said == "stopped":
		want, _, _ := strings.Cut(said, " ")
		if !slices.ContainsFunc(all, func(vm *pvesim.VM) bool { return state(vm) == want }) {
			return fmt.Sprintf("none of %d VMs of that name is", len(all))
		}
	}
	return ""
}

// rows compares the rows of a table of machines with the machines.
func (w world) rows(head, lines []string) (wrong []string) {
	column := func(fields []string, name string) string {
		if i := slices.Index(head, name); i >= 0 && i < len(fields) {
			return fields[i]
		}
		return ""
	}
	for _, line := range lines {
		fields := cells.Split(line, -1)
		if len(fields) < 4 {
			break // the table ends
		}
		name, vm := fields[0], w.numbered(column(fields, "VMID"))
		switch said, _, _ := strings.Cut(column(fields, "STATE"), " "); {
		case said == "absent":
			if vm != nil && vm.Name() == name && marked(vm) {
				wrong = append(wrong, fmt.Sprintf("%s is said to be absent, and is VM %d", name, vm.ID))
			}
			continue
		case vm == nil:
			wrong = append(wrong, fmt.Sprintf("%s is said to be VM %s, which isn't there", name, column(fields, "VMID")))
			continue
		case (said == "running" || said == "stopped") && said != state(vm):
			wrong = append(wrong, fmt.Sprintf("VM %d is said to be %s, and is %s", vm.ID, said, state(vm)))
		}
		if node := column(fields, "NODE"); vm.Node != node {
			wrong = append(wrong, fmt.Sprintf("VM %d is said to be on %s, and is on %s", vm.ID, node, vm.Node))
		}
		if slices.Contains(head, "UP") {
			continue // MEMORY is what it uses
		}
		for name, is := range map[string]string{"CPUS": cpus(vm), "MEMORY": memory(vm), "DISK": disks(vm), "IP": w.address(vm)} {
			if said := column(fields, name); said != "" && said != "-" && said != is {
				wrong = append(wrong, fmt.Sprintf("%s of VM %d is said to be %s, and is %s", name, vm.ID, said, is))
			}
		}
	}
	return wrong
}

func cpus(vm *pvesim.VM) string {
	if vm.Conf["vcpus"] != "" {
		return vm.Conf["vcpus"]
	}
	cores, sockets := 1, 1
	fmt.Sscan(vm.Conf["cores"], &cores)
	fmt.Sscan(vm.Conf["sockets"], &sockets)
	return strconv.Itoa(cores * sockets)
}

// memory is what a machine has of it.
func memory(vm *pvesim.VM) string {
	mib := int64(512)
	if m, err := prop.ParseMemory(vm.Conf["memory"]); err == nil && m.MiB > 0 {
		mib = int64(m.MiB)
	}
	return status.Size(mib << 20)
}

// disks is how large all disks of a machine are.
func disks(vm *pvesim.VM) string {
	var sum int64
	for key, value := range vm.Conf {
		if !drive.MatchString(key) {
			continue
		}
		if d, err := prop.ParseDisk(value); err == nil && d.Media != "cdrom" && !strings.Contains(value, "cloudinit") {
			sum += int64(d.Size)
		}
	}
	return status.Size(sum)
}

var drive = regexp.MustCompile(`^(scsi|virtio|sata|ide)\d+$`)

// address is a machine's address as tables show it: the first, and how many more it has.
func (w world) address(vm *pvesim.VM) string {
	list := status.Addresses(slices.DeleteFunc(slices.Clone(w.addresses[vm.ID]), func(p netip.Prefix) bool { return p.Addr().IsLinkLocalUnicast() }))
	switch len(list) {
	case 0:
		return "-"
	case 1:
		return list[0]
	}
	return fmt.Sprintf("%s +%d", list[0], len(list)-1)
}

// vmids are those of all machines.
func (s *site) vmids() (ids map[int]bool) {
	ids = map[int]bool{}
	s.Do(func(st *pvesim.State) {
		for id := range st.VMs {
			ids[id] = true
		}
	})
	return ids
}

// wanted is what a manifest says of a machine.
type wanted struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		PowerState any
		Name       string
		Count      any
	}
}

// unlike are the machines of manifests that aren't as these say, though all is said to be well:
// each is there, and runs unless it is to be off.
func (w world) unlike(manifests []string) (wrong []string) {
	for _, text := range manifests {
		for doc := range strings.SplitSeq(text, "\n---") {
			var m wanted
			if yaml.Unmarshal([]byte(doc), &m) != nil || m.Kind != "VirtualMachine" || m.Spec.Count != nil || m.Spec.Name != "" {
				continue
			}
			want := "running"
			if p := m.Spec.PowerState; p == false || strings.HasPrefix(fmt.Sprint(p), "Off") {
				want = "stopped"
			}
			if !slices.ContainsFunc(w.named(m.Metadata.Name, true), func(vm *pvesim.VM) bool { return state(vm) == want }) {
				wrong = append(wrong, fmt.Sprintf("all is said to be up to date, and %s isn't %s", m.Metadata.Name, want))
			}
		}
	}
	return wrong
}

// unknownCommands are the commands that a text tells to run, and that there aren't.
func unknownCommands(text string) (wrong []string) {
	for _, m := range told.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(commandNames(), m[1]) && !prose[m[1]] {
			wrong = append(wrong, "proxplane "+m[1])
		}
	}
	return wrong
}

// prose are words that follow the program's name in sentences.
var prose = map[string]bool{"is": true, "has": true, "manages": true, "made": true, "made,": true, "development": true, "writes": true, "may": true, "knows": true, "doesn": true, "needs": true, "can": true, "shows": true, "makes": true}

// Sentences that aren't so are found: otherwise no story would prove anything.
func TestUntrueSentencesAreFound(t *testing.T) {
	w := world{vms: map[int]*pvesim.VM{
		101: {ID: 101, Node: "pve1", Run: &pvesim.Run{}, Conf: pvesim.Conf{
			"name": "web", "tags": model.Tag, "cores": "2", "memory": "4096", "scsi0": "nfs:101/vm-101-disk-0.qcow2,size=20G",
			"scsi1": "nfs:101/vm-101-disk-1.qcow2,size=512M", "ide2": "nfs:101/vm-101-cloudinit.qcow2,media=cdrom,size=4M",
		}},
		102: {ID: 102, Node: "pve2", Conf: pvesim.Conf{"name": "db"}},
	}, addresses: map[int][]netip.Prefix{101: {netip.MustParsePrefix("fe80::1/64"), netip.MustParsePrefix("10.0.0.5/24"), netip.MustParsePrefix("10.1.0.5/24")}}}
	for _, c := range []struct {
		out string
		so  bool
	}{
		{"✓ vm/web  running  1s", true},
		{"✓ vm/web  stopped  1s", false},
		{"✓ vm/db  running again  1s", false},
		{"✓ vm/web  gone  0s", false},
		{"✓ vm/db  gone  0s", true},
		{"✓ vm/db  released  0s", true},
		{"✓ vm/web  released  0s", false},
		{"✓ vm/other  ready  3s", false},
		{"✓ vm/web  take snapshot s1  0s", false},
		{"✓ vm/web  delete snapshot s1  0s", true},
		{"vm/web (101) is running already.", true},
		{"vm/db (102) is running already.", false},
		{`Error: no VM is named "web"`, false},
		{`Error: no VM is named "wbe"`, true},
		{"Error: there is no VM 101", false},
		{"NAME  STATE    NODE  VMID\nweb   running  pve1   101\n", true},
		{"NAME  STATE    NODE  VMID\nweb   stopped  pve1   101\n", false},
		{"NAME  STATE    NODE  VMID\nweb   running  pve2   101\n", false},
		{"NAME  STATE    NODE  VMID  CPUS\nweb   running  pve1   101     4\n", false},
		{"NAME  STATE    NODE  VMID  CPUS  MEMORY    DISK\nweb   running  pve1   101     2   4 GiB  20.5 GiB\n", true},
		{"NAME  STATE    NODE  VMID  MEMORY\nweb   running  pve1   101   2 GiB\n", false},
		{"NAME  STATE    NODE  VMID    DISK\nweb   running  pve1   101  20 GiB\n", false},
		{"NAME  STATE    NODE  VMID  IP           READY\nweb   running  pve1   101  10.0.0.5 +1  yes\n", true},
		{"NAME  STATE    NODE  VMID  IP        READY\nweb   running  pve1   101  10.0.0.7  yes\n", false},
		{"NAME  STATE              NODE  VMID\nweb   running (migrate)  pve2   101\n", false},
		{"NAME  STATE    NODE  VMID\nweb   running  pve1   109\n", false},
		{"NAME  STATE   NODE  VMID\nweb   absent  -      101\n", false},
		{"NAME  VMID  NODE  STATE    CPUS  CPU  MEMORY     OF   UP\nweb    101  pve1  running     2   1%   2 GiB  4 GiB  38s\n", true},
		{"NAME  VMID  NODE  STATE    CPUS  CPU  MEMORY     OF   UP\nweb    101  pve1  stopped     2    -       -  4 GiB    -\n", false},
		{"✓ vm/web  is suspended to disk", false},
		{`[{"name": "web", "state": "running", "node": "pve1", "vmid": 101, "memoryBytes": 4294967296}]`, true},
		{`[{"name": "web", "state": "stopped", "node": "pve1", "vmid": 101}]`, false},
		{`[{"name": "web", "state": "running", "node": "pve2", "vmid": 101}]`, false},
		{`[{"name": "web", "state": "running", "node": "pve1", "vmid": 101, "memoryBytes": 2147483648}]`, false},
		{`[{"name": "web", "state": "running", "node": "pve1", "vmid": 109}]`, false},
		{`{"vms": [{"name": "web", "state": "absent", "vmid": 101}]}`, false},
		{`{"nodes": [{"name": "pve1", "state": "online"}], "vms": [{"name": "web", "vmid": 101, "node": "pve1", "state": "running", "memoryBytes": 1, "memoryOfBytes": 4294967296}]}`, true},
		{`{"type":"plan","objects":[{"object":"vm/web","name":"web","vmid":101,"node":"pve1","state":"Ready"}]}` + "\n" + `{"type":"summary","vms":[{"name":"web","state":"stopped","vmid":101}]}`, false},
	} {
		if wrong := w.untrue(c.out); (len(wrong) == 0) != c.so {
			t.Errorf("%q: found %q", c.out, wrong)
		}
	}
	manifest := "kind: VirtualMachine\nmetadata: {name: db}\nspec: {powerState: On}\n---\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {powerState: On}\n"
	if wrong := w.unlike([]string{manifest}); len(wrong) != 1 || !strings.Contains(wrong[0], "db") {
		t.Errorf("of %s it finds %q", manifest, wrong)
	}
	if !green("apply", "Nothing to do: 2 objects up to date.\n") || green("apply", "Not done: 1 up to date, 1 not, after 1 s.\n") {
		t.Error("what is green isn't seen")
	}
	if wrong := unknownCommands("Start it: proxplane powr on web. proxplane get vms shows it."); len(wrong) != 1 {
		t.Errorf("found %q", wrong)
	}
}
