package guestos

import (
	"encoding/json"
	"fmt"
	"maps"
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
	if until, has := p.guest.certifiedUntil(); has && until.Before(p.on.Now()) {
		const format = "2006-01-02T15:04:05Z"
		fmt.Fprintf(&p.err, "Unable to connect to the server: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time %s is after %s\n", p.on.Now().UTC().Format(format), until.UTC().Format(format))
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
		if kind == "lease" {
			return k.lease(p, flags["n"], name)
		}
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

// lease prints who holds the VIP, or when a kubelet has last renewed its own.
func (k *Kube) lease(p *process, namespace, name string) int {
	spec := object{"holderIdentity": k.holder(p.on)}
	if namespace == "kube-node-lease" {
		if k.runs(p.on, name) == nil {
			spec = object{"holderIdentity": name}
		} else {
			spec = object{"holderIdentity": name, "renewTime": p.on.Now().UTC().Format("2006-01-02T15:04:05.000000Z")}
		}
	}
	return printJSON(p, object{"kind": "Lease", "spec": spec})
}

// exec is a program in a pod: it works if the pod's node does. Pods serve their own names.
func (k *Kube) exec(p *process, from string, command []string) int {
	names := slices.Sorted(maps.Keys(k.Nodes))
	for _, name := range names {
		if from != "check-"+name || k.runs(p.on, name) == nil {
			continue
		}
		for i, to := range names {
			if slices.Contains(command, "http://"+podIP(i)+":8080/") && k.runs(p.on, to) != nil {
				fmt.Fprintln(&p.out, "check-"+to)
			}
		}
		return 0
	}
	pod := from
	fmt.Fprintf(&p.err, "error: unable to upgrade connection: pod %s isn't running\n", pod)
	return 1
}

// podIP is the address of the pod on the n-th node.
func podIP(n int) string { return fmt.Sprintf("10.42.%d.5", n) }

// get prints objects as JSON.
func (k *Kube) get(p *process, kind, namespace string) int {
	var items []object
	names := slices.Sorted(maps.Keys(k.Nodes))
	for i, name := range names {
		n := k.Nodes[name]
		ready := k.runs(p.on, name) != nil || p.on.Now().Before(n.Stale)
		switch {
		case kind == "nodes":
			items = append(items, n.object(name, ready))
		case kind == "pods" && namespace == "kube-system" && n.Server:
			for _, part := range []string{"etcd-", "kube-apiserver-", "kube-vip-"} {
				items = append(items, pod(part+name, name, podIP(i), ready))
			}
		case kind == "pods" && namespace == "kube-system":
			items = append(items, pod("rke2-canal-"+name, name, podIP(i), ready))
		case kind == "pods":
			items = append(items, pod("check-"+name, name, podIP(i), ready))
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

func pod(name, node, address string, ready bool) object {
	phase := "Running"
	if !ready {
		phase = "Unknown"
	}
	return object{
		"metadata": object{"name": name}, "spec": object{"nodeName": node},
		"status": object{"phase": phase, "podIP": address, "conditions": []object{condition("Ready", ready)}},
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
		"metadata": object{"name": name, "uid": n.UID, "labels": labels}, "spec": object{"unschedulable": n.Cordoned},
		"status": object{"conditions": conditions, "nodeInfo": object{"kubeletVersion": n.Version}},
	}
}
