package guestos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

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
		text, _ := json.Marshal(object{"namespaces": slices.Sorted(maps.Keys(k.Namespaces)), "nodes": k.Nodes})
		file := p.guest.kubePlace("/var/lib/rancher", "server/db/snapshots", fmt.Sprintf("%s-%s-%d", flags["name"], p.guest.Name, p.on.Now().Unix()))
		p.guest.Files[file] = text
		return 0
	case len(words) > 1 && words[0] == "certificate" && words[1] == "rotate" && p.guest.Kube.Stopped:
		if file := p.guest.certificateFile(); p.guest.Files[file] != nil {
			p.guest.Files[file] = certificate(p.on.Now())
		}
		return 0
	case slices.Contains(args, "--cluster-reset") && p.guest.Kube.Stopped && k != nil:
		c := p.guest.kubeConfig()
		if file := flags["config"]; file != "" {
			c = p.guest.kubeConfigIn(file)
		}
		if c.Server != "" { // both distributions refuse it
			fmt.Fprintln(&p.err, "level=fatal msg=\"Error: cannot perform cluster-reset while server URL is set - remove server from configuration before resetting\"")
			return 1
		}
		return k.reset(p, flags["cluster-reset-restore-path"])
	}
	fmt.Fprintf(&p.err, "level=fatal msg=\"%s: failed\"\n", strings.Join(args, " "))
	return 1
}

// reset makes this node the only member of etcd, with what a snapshot has.
func (k *Kube) reset(p *process, file string) int {
	text, err := p.guest.Read(file)
	var was struct {
		Namespaces []string             `json:"namespaces"`
		Nodes      map[string]*KubeNode `json:"nodes"`
	}
	if err != nil || json.Unmarshal(text, &was) != nil {
		fmt.Fprintf(&p.err, "level=fatal msg=\"starting kubernetes: etcd: snapshot path %s does not exist\"\n", file)
		return 1
	}
	k.Namespaces = map[string]bool{}
	for _, n := range was.Namespaces {
		k.Namespaces[n] = true
	}
	// Nodes are as the snapshot has them, ready or not, until nobody has heard of them for a while. None but this
	// one is a member of etcd.
	const grace = 40 * time.Second
	own := p.guest.kubeConfig().Name
	if k.Nodes = was.Nodes; k.Nodes == nil {
		k.Nodes = map[string]*KubeNode{}
	}
	for _, n := range k.Nodes {
		n.Left, n.Stale = true, p.on.Now().Add(grace)
	}
	_, err = p.guest.Read(p.guest.kubePlace("/var/lib/rancher", "agent/pod-manifests/kube-vip.yaml"))
	k.Nodes[own] = &KubeNode{Birth: p.guest.Birth, Server: err == nil, Version: p.guest.Kube.Installed}
	for _, g := range p.on.Guests() { // the others know nothing of it
		if g.Kube.Joined == k.Token && g != p.guest {
			g.Kube.Joined = ""
			if n := k.Nodes[g.kubeConfig().Name]; n != nil { // its kubelet is as it was
				n.Version = g.Kube.Installed
			}
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

// service starts and stops the service.
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
		if p.guest.Kube.Removed { // a kubelet registers its node when it starts
			p.guest.Kube.Removed, p.guest.Kube.Joined = false, ""
		}
		p.guest.Kube.Stopped = false
		const early = 90 * 24 * time.Hour // both distributions renew certificates when they start, if these expire soon
		if until, has := p.guest.certifiedUntil(); has && until.Before(p.on.Now().Add(early)) {
			p.guest.Files[p.guest.certificateFile()] = certificate(p.on.Now())
		}
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
