package guestos

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

type object = map[string]any

// progKubectl knows what is needed to look after nodes.
func progKubectl(p *process, args []string) int {
	settleKube(p.on)
	flags, words, rest := kubectlArgs(args)
	k := p.on.Kubes()[p.guest.Kube.Joined]
	if k == nil {
		fmt.Fprintln(&p.err, "error: stat kubeconfig: no such file or directory")
		return 1
	}
	at := k
	if url := flags["server"]; url != "" {
		at = kubeAt(p.on, url)
	}
	if at == nil || !at.alive(p.on) || p.guest.Kube.Stopped {
		fmt.Fprintln(&p.err, "The connection to the server was refused - did you specify the right host or port?")
		return 1
	}
	return k.kubectl(p, flags, words, rest)
}

// kubectlArgs takes flags, words, and what stands behind -- apart.
func kubectlArgs(args []string) (flags map[string]string, words, rest []string) {
	flags = map[string]string{}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		name, value, set := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case a == "--":
			return flags, words, args
		case a == "-":
			words = append(words, a)
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		case set:
			flags[name] = value
		case slices.Contains([]string{"kubeconfig", "server", "n", "o", "raw", "f", "l", "type", "p"}, name) && len(args) > 0:
			flags[name], args = args[0], args[1:]
		default:
			flags[name] = "true"
		}
	}
	return flags, words, nil
}

func (k *Kube) kubectl(p *process, flags map[string]string, words, rest []string) int {
	say := func(format string, args ...any) int {
		fmt.Fprintf(&p.out, format+"\n", args...)
		return 0
	}
	lacks := func(kind, name string) int {
		fmt.Fprintf(&p.err, "Error from server (NotFound): %s %q not found\n", kind, name)
		return 1
	}
	if flags["raw"] != "" {
		return say("ok")
	}
	words = append(words, "", "", "")
	kind, name, both := strings.Cut(words[1], "/")
	if !both {
		name = words[2]
	}
	switch node := k.Nodes[words[1]]; words[0] + " " + kind {
	case "get nodes", "get pods", "get lease", "get namespaces":
		return k.get(p, kind, flags["n"])
	case "delete node":
		if k.Nodes[name] == nil {
			return lacks("nodes", name)
		}
		if g := k.runs(p.on, name); g != nil {
			g.Kube.Removed = true
		}
		delete(k.Nodes, name)
		return say("node %q deleted", name)
	case "create namespace", "delete namespace":
		if words[0] == "delete" {
			delete(k.Namespaces, name)
		} else {
			k.Namespaces[name] = true
		}
		return say("namespace/%s %sd", name, words[0])
	case "rollout status":
		return say("daemon set successfully rolled out")
	default:
		switch {
		case words[0] == "apply":
			for doc := range strings.SplitSeq(string(p.stdin), "\n---\n") {
				var o struct {
					Kind     string                `json:"kind"`
					Metadata struct{ Name string } `json:"metadata"`
				}
				if yaml.Unmarshal([]byte(doc), &o) == nil && o.Kind == "Namespace" {
					k.Namespaces[o.Metadata.Name] = true
				}
			}
			return say("applied")
		case words[0] == "exec":
			return k.exec(p, words[1], rest)
		case node == nil:
			return lacks("nodes", words[1])
		}
		node.Cordoned = words[0] != "uncordon"
		return say("node/%s %sed", words[1], words[0])
	}
}

// exec is a program in a pod: it works if the pod's node does.
func (k *Kube) exec(p *process, pod string, _ []string) int {
	for name := range k.Nodes {
		if pod == "check-"+name && k.runs(p.on, name) != nil {
			return 0
		}
	}
	fmt.Fprintf(&p.err, "error: unable to upgrade connection: pod %s isn't running\n", pod)
	return 1
}

// get prints objects as JSON.
func (k *Kube) get(p *process, kind, namespace string) int {
	var items []object
	names := slices.Sorted(maps.Keys(k.Nodes))
	for _, name := range names {
		n := k.Nodes[name]
		ready := k.runs(p.on, name) != nil
		switch {
		case kind == "nodes":
			items = append(items, n.object(name, ready))
		case kind == "pods" && namespace == "kube-system" && n.Server:
			items = append(items, pod("etcd-"+name, name, ready), pod("kube-apiserver-"+name, name, ready), pod("kube-vip-"+name, name, ready))
		case kind == "pods" && namespace == "kube-system":
			items = append(items, pod("rke2-canal-"+name, name, ready))
		case kind == "pods":
			items = append(items, pod("check-"+name, name, ready))
		case kind == "lease" && n.Server && ready:
			return printJSON(p, object{"kind": "Lease", "spec": object{"holderIdentity": name}})
		}
	}
	if kind == "namespaces" {
		for name := range maps.Keys(k.Namespaces) {
			items = append(items, object{"metadata": object{"name": name}})
		}
	}
	return printJSON(p, object{"kind": "List", "items": items})
}

func printJSON(p *process, o object) int {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // plain values only
	}
	p.out.Write(append(text, '\n'))
	return 0
}

func pod(name, node string, ready bool) object {
	phase := "Running"
	if !ready {
		phase = "Unknown"
	}
	return object{
		"metadata": object{"name": name}, "spec": object{"nodeName": node},
		"status": object{"phase": phase, "podIP": "10.42.0.5", "conditions": []object{condition("Ready", ready)}},
	}
}

func condition(kind string, is bool) object {
	word := map[bool]string{true: "True", false: "False"}[is]
	return object{"type": kind, "status": word}
}

// object is the node as the API server shows it.
func (n *KubeNode) object(name string, ready bool) object {
	labels, conditions := object{}, []object{condition("MemoryPressure", false), condition("DiskPressure", false), condition("PIDPressure", false), condition("Ready", ready)}
	for _, l := range n.Labels {
		key, value, _ := strings.Cut(l, "=")
		labels[key] = value
	}
	if n.Server {
		labels["node-role.kubernetes.io/control-plane"], labels["node-role.kubernetes.io/etcd"] = "true", "true"
		conditions = append(conditions, condition("EtcdIsVoter", true))
	}
	return object{
		"metadata": object{"name": name, "labels": labels}, "spec": object{"unschedulable": n.Cordoned},
		"status": object{"conditions": conditions, "nodeInfo": object{"kubeletVersion": n.Version}},
	}
}

// progDistribution is rke2, and k3s with its kubectl.
func progDistribution(p *process, args []string) int {
	settleKube(p.on)
	if len(args) > 0 && args[0] == "kubectl" {
		return progKubectl(p, args[1:])
	}
	flags, words, _ := kubectlArgs(args)
	for i, a := range args { // its flags have values of their own
		if a == "--name" && i+1 < len(args) {
			flags["name"] = args[i+1]
		}
	}
	k := p.on.Kubes()[p.guest.Kube.Joined]
	switch {
	case len(words) > 1 && words[0] == "etcd-snapshot" && words[1] == "save" && k != nil && k.alive(p.on):
		text, _ := json.Marshal(object{"namespaces": slices.Sorted(maps.Keys(k.Namespaces))})
		file := p.guest.kubePlace("/var/lib/rancher", "server/db/snapshots", fmt.Sprintf("%s-%s-%d", flags["name"], p.guest.Name, p.on.Now().Unix()))
		p.guest.Files[file] = text
		return 0
	case slices.Contains(args, "--cluster-reset") && p.guest.Kube.Stopped && k != nil:
		return k.reset(p, flags["cluster-reset-restore-path"])
	}
	fmt.Fprintf(&p.err, "level=fatal msg=\"%s: failed\"\n", strings.Join(args, " "))
	return 1
}

// reset makes this node the only one of its cluster again, with what a snapshot has.
func (k *Kube) reset(p *process, file string) int {
	text, err := p.guest.Read(file)
	var was struct {
		Namespaces []string `json:"namespaces"`
	}
	if err != nil || json.Unmarshal(text, &was) != nil {
		fmt.Fprintf(&p.err, "level=fatal msg=\"starting kubernetes: etcd: snapshot path %s does not exist\"\n", file)
		return 1
	}
	k.Namespaces = map[string]bool{}
	for _, n := range was.Namespaces {
		k.Namespaces[n] = true
	}
	own := p.guest.kubeConfig().Name
	for name := range k.Nodes {
		if name != own {
			delete(k.Nodes, name)
		}
	}
	for _, g := range p.on.Guests() { // the others know nothing of it
		if g.Kube.Joined == k.Token && g != p.guest {
			g.Kube.Joined = ""
		}
	}
	return 0
}

// progNode is the script of the first-boot data, run again: it installs what is named now.
func progNode(p *process, _ []string) int {
	g, joined := p.guest, p.guest.Kube.Joined
	g.Kube.Installed, g.Kube.Failed = "", ""
	g.installKube(p.on)
	if g.Kube.Failed != "" {
		return 1
	}
	if k := p.on.Kubes()[joined]; k != nil {
		if n := k.Nodes[g.kubeConfig().Name]; n != nil {
			n.Version = g.Kube.Installed
		}
	}
	return 0
}

// progService starts and stops the service.
func (p *process) service(verb, unit string) (code int, known bool) {
	r, asked := p.guest.release()
	if !asked || strings.TrimSuffix(unit, ".service") != r["UNIT"] {
		return 0, false
	}
	settleKube(p.on)
	switch verb {
	case "stop":
		p.guest.Kube.Stopped = true
	case "start", "restart":
		p.guest.Kube.Stopped = false
		settleKube(p.on)
	case "is-active":
		word := "active"
		if p.guest.Kube.Stopped || p.guest.Kube.Joined == "" {
			word, code = "activating", 3
		}
		fmt.Fprintln(&p.out, word)
	}
	return code, true
}

func progJournalctl(p *process, _ []string) int {
	settleKube(p.on)
	if line := p.guest.Kube.Log; line != "" {
		fmt.Fprintln(&p.out, line)
	}
	return 0
}

// progTail knows -n N and -c +N.
func progTail(p *process, args []string) int {
	text, rest := p.stdin, args
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "/") {
		data, err := p.guest.Read(args[n-1])
		if err != nil {
			fmt.Fprintf(&p.err, "tail: cannot open '%s' for reading: %s\n", args[n-1], err)
			return 1
		}
		text, rest = data, args[:n-1]
	}
	var from int
	if len(rest) == 2 && rest[0] == "-c" {
		_, _ = fmt.Sscanf(rest[1], "+%d", &from)
		text = text[min(max(0, from-1), len(text)):]
	}
	p.out.Write(text)
	return 0
}

// makeDirs makes a folder with those above it.
func (g *Guest) makeDirs(dir string) {
	for d := path.Clean(dir); d != "/" && d != "." && !g.isDir(d); d = path.Dir(d) {
		g.Dirs[d] = true
	}
}
