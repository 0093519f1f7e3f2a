package nodeos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// command is what "qm NAME" calls.
type command struct {
	method, path string
	words        []string // parameters that come without their names
}

// qmCommands are calls of the API; {vmid} is the first word.
var qmCommands = map[string]command{
	"set":      {"PUT", "/config", nil},
	"create":   {"POST", "", nil},
	"clone":    {"POST", "/clone", []string{"newid"}},
	"template": {"POST", "/template", nil},
	"destroy":  {"DELETE", "", nil},
	"resize":   {"PUT", "/resize", []string{"disk", "size"}},
	"start":    {"POST", "/status/start", nil},
	"stop":     {"POST", "/status/stop", nil},
	"shutdown": {"POST", "/status/shutdown", nil},
	"reboot":   {"POST", "/status/reboot", nil},
	"config":   {"GET", "/config", nil},
	"status":   {"GET", "/status/current", nil},
}

// progQm is "qm": VMs of this node.
func progQm(p *process) int {
	if len(p.args) > 0 && (p.args[0] == "--help" || p.args[0] == "help") {
		fmt.Fprintln(p.out, "USAGE: qm <COMMAND> [ARGS] [OPTIONS]")
		return 0
	}
	name, words, options := arguments(p.args)
	if name == "disk" && len(words) > 0 {
		name, words = "disk "+words[0], words[1:]
	}
	switch name {
	case "importdisk", "disk import":
		return p.importDisk(words, options)
	case "disk resize":
		name = "resize"
	case "list":
		return p.listVMs()
	}
	c, ok := qmCommands[name]
	if !ok {
		return p.unknown("qm", name)
	}
	if len(words) == 0 {
		return p.complain("400 not enough arguments")
	}
	vmid, path := words[0], "/nodes/"+p.node.host.Name()+"/qemu"
	if name == "create" {
		options["vmid"] = vmid
	} else {
		path += "/" + vmid
	}
	for i, word := range words[1:] {
		if i >= len(c.words) {
			return p.complain("400 too many arguments")
		}
		options[c.words[i]] = word
	}
	data, err := p.node.host.Call(c.method, path+c.path, options, p.print)
	if err != nil {
		return p.complain(err.Error())
	}
	switch name {
	case "set":
		p.print(fmt.Sprintf("update VM %s: %s", vmid, spelled(options)))
	case "config":
		p.keys(data)
	case "status":
		p.print(fmt.Sprint("status: ", field(data, "status")))
	}
	return 0
}

// spelled are options as the log of a change shows them.
func spelled(options map[string]any) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(options)) {
		out = append(out, fmt.Sprintf("-%s %v", k, options[k]))
	}
	return strings.Join(out, " ")
}

func (p *process) print(line string) { fmt.Fprintln(p.out, line) }

// complain says why a program of Proxmox failed.
func (p *process) complain(text string) int {
	fmt.Fprintln(p.err, text)
	return 255
}

func (p *process) unknown(program, name string) int {
	return p.complain(fmt.Sprintf("ERROR: unknown command '%s %s'", program, name))
}

// arguments takes the options (-name value, --name=value) out of the arguments. An
// option without a value is a flag.
func arguments(args []string) (name string, words []string, options map[string]any) {
	options = map[string]any{}
	for i := 0; i < len(args); i++ {
		key := strings.TrimLeft(args[i], "-")
		if key == args[i] || args[i] == "-" {
			words = append(words, args[i])
			continue
		}
		if k, v, ok := strings.Cut(key, "="); ok {
			options[k] = v
		} else if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			options[key] = args[i]
		} else {
			options[key] = "1"
		}
	}
	if len(words) > 0 {
		name, words = words[0], words[1:]
	}
	return name, words, options
}

// importDisk is "qm disk import VMID SOURCE STORAGE".
func (p *process) importDisk(words []string, options map[string]any) int {
	if len(words) != 3 {
		return p.complain("400 not enough arguments")
	}
	vmid, err := strconv.Atoi(words[0])
	if err != nil {
		return p.complain("400 Parameter verification failed.\nvmid: type check ('integer') failed - got '" + words[0] + "'")
	}
	source, local := p.path(words[1]), ""
	if _, there, _ := p.node.host.Stat(source); !there {
		if file, err := p.node.root.Open(inside(source)); err == nil {
			local = file.Name()
			if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
				local = ""
			}
			_ = file.Close()
		}
	}
	format, _ := options["format"].(string)
	key, volid, err := p.node.host.ImportDisk(vmid, source, local, words[2], format, p.print)
	if err != nil {
		return p.complain(err.Error())
	}
	p.print(fmt.Sprintf("%s: successfully imported disk '%s'", key, volid))
	return 0
}

func (p *process) listVMs() int {
	data, err := p.node.host.Call("GET", "/nodes/"+p.node.host.Name()+"/qemu", map[string]any{}, p.print)
	if err != nil {
		return p.complain(err.Error())
	}
	fmt.Fprintf(p.out, "%10s %-20s %-10s\n", "VMID", "NAME", "STATUS")
	for _, vm := range list(data) {
		fmt.Fprintf(p.out, "%10v %-20v %-10v\n", vm["vmid"], vm["name"], vm["status"])
	}
	return 0
}

// progPvesm is "pvesm": storages.
func progPvesm(p *process) int {
	name, words, _ := arguments(p.args)
	switch {
	case name == "apiinfo":
		fmt.Fprintf(p.out, "APIVER 15\nAPIAGE 6\n")
		return 0
	case name == "path" && len(words) == 1:
		path, err := p.node.host.VolumePath(words[0])
		if err != nil {
			return p.complain(err.Error())
		}
		p.print(path)
		return 0
	case name == "status":
		data, err := p.node.host.Call("GET", "/nodes/"+p.node.host.Name()+"/storage", map[string]any{}, p.print)
		if err != nil {
			return p.complain(err.Error())
		}
		p.print("Name Type Status Total Used Available")
		for _, st := range list(data) {
			status := map[string]string{"1": "active", "0": "inactive"}[fmt.Sprint(st["active"])]
			p.print(fmt.Sprintf("%v %v %s %v %v %v", st["storage"], st["type"], status, kib(st["total"]), kib(st["used"]), kib(st["avail"])))
		}
		return 0
	case name == "list" && len(words) == 1:
		data, err := p.node.host.Call("GET", "/nodes/"+p.node.host.Name()+"/storage/"+words[0]+"/content", map[string]any{}, p.print)
		if err != nil {
			return p.complain(err.Error())
		}
		p.print("Volid Format Type Size")
		for _, v := range list(data) {
			p.print(fmt.Sprintf("%v %v %v %v", v["volid"], v["format"], v["content"], v["size"]))
		}
		return 0
	}
	return p.unknown("pvesm", name)
}

func kib(v any) int64 {
	n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	return n >> 10
}

// progPvesh is "pvesh": any call of the API. The answer is JSON.
func progPvesh(p *process) int {
	method := map[string]string{"get": "GET", "set": "PUT", "create": "POST", "delete": "DELETE"}
	name, words, options := arguments(p.args)
	if method[name] == "" || len(words) != 1 {
		return p.unknown("pvesh", name)
	}
	for _, k := range []string{"output-format", "noborder", "noheader", "human-readable"} {
		delete(options, k)
	}
	data, err := p.node.host.Call(method[name], words[0], options, func(string) {})
	if err != nil {
		return p.complain(err.Error())
	}
	if data != nil {
		_ = json.NewEncoder(p.out).Encode(data)
	}
	return 0
}

func progPveversion(p *process) int {
	data, err := p.node.host.Call("GET", "/version", map[string]any{}, p.print)
	if err != nil {
		return p.complain(err.Error())
	}
	p.print(fmt.Sprintf("pve-manager/%v/%v (running kernel: 6.17.4-1-pve)", field(data, "version"), field(data, "repoid")))
	return 0
}

// list is data of the API as the objects that it is.
func list(data any) (out []map[string]any) {
	b, err := json.Marshal(data)
	if err == nil {
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		_ = d.Decode(&out)
	}
	return out
}

func object(data any) map[string]any {
	if all := list([]any{data}); len(all) == 1 {
		return all[0]
	}
	return nil
}

func field(data any, name string) any { return object(data)[name] }

// keys prints a config, a line for each option.
func (p *process) keys(data any) {
	all := object(data)
	delete(all, "digest")
	for _, k := range slices.Sorted(maps.Keys(all)) {
		p.print(fmt.Sprintf("%s: %v", k, all[k]))
	}
}

// progHAManager is "ha-manager add SID [OPTIONS]" and "ha-manager crm-command node-maintenance enable|disable NODE".
func progHAManager(p *process) int {
	if name, words, options := arguments(p.args); name == "add" && len(words) == 1 {
		options["sid"] = words[0]
		if _, err := p.node.host.Call("POST", "/cluster/ha/resources", options, p.print); err != nil {
			return p.complain(err.Error())
		}
		return 0
	}
	switch a := p.args; {
	case len(a) != 4 || a[0] != "crm-command" || a[1] != "node-maintenance":
		return p.unknown("ha-manager", strings.Join(a, " "))
	case a[2] != "enable" && a[2] != "disable":
		return p.unknown("ha-manager", strings.Join(a, " "))
	}
	if err := p.node.host.Maintenance(p.args[3], p.args[2] == "enable"); err != nil {
		return p.complain(err.Error())
	}
	return 0
}
