package guestos

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Kube is a stand-in for a Kubernetes cluster of RKE2 or k3s that guests form: which nodes there
// are, which of them are members of etcd, and a little of what people see of it with kubectl. It
// goes by what the guests' first-boot data have written, as the real ones do: config.yaml, the
// static pod of kube-vip, and the release with its checksum. No container runs.
type Kube struct {
	Token      string               `json:"token"`
	VIP        string               `json:"vip"`
	Nodes      map[string]*KubeNode `json:"nodes"`
	Namespaces map[string]bool      `json:"namespaces,omitempty"`
}

// KubeNode is a node as the API server knows it.
type KubeNode struct {
	Birth    string   `json:"birth"` // of the machine
	UID      string   `json:"uid"`   // another one each time that the machine registers
	Server   bool     `json:"server,omitempty"`
	Version  string   `json:"version"`
	Cordoned bool     `json:"cordoned,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	Taints   []string `json:"taints,omitempty"`
	// Left means that it is no member of etcd any more, since that was restored.
	Left bool `json:"left,omitempty"`
	// Stale is until when it is said to be ready, though nobody has heard of it since etcd was restored.
	Stale time.Time `json:"stale,omitzero"`
}

// KubeState is how far a guest is with it.
type KubeState struct {
	Installed string `json:"installed,omitempty"` // release
	Failed    string `json:"failed,omitempty"`
	Joined    string `json:"joined,omitempty"`  // the token of its cluster
	Log       string `json:"log,omitempty"`     // last line of the service
	Stopped   bool   `json:"stopped,omitempty"` // the service is
	Removed   bool   `json:"removed,omitempty"` // somebody has deleted its node
}

const (
	phaseFile   = "/run/proxplane/phase"
	releaseFile = "/etc/proxplane/release"
)

// kubeConfig is config.yaml.
type kubeConfig struct {
	Token  string   `json:"token"`
	Server string   `json:"server"`
	Name   string   `json:"node-name"`
	Labels []string `json:"node-label"`
	Taints []string `json:"node-taint"`
	SANs   []string `json:"tls-san"`
}

// release is what the first-boot data have a guest install; ok: something at all.
func (g *Guest) release() (values map[string]string, ok bool) {
	text, err := g.Read(releaseFile)
	values = map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = strings.Trim(value, "'")
	}
	return values, err == nil && values["DISTRIBUTION"] != ""
}

// kubePlace is a file of the distribution.
func (g *Guest) kubePlace(parts ...string) string {
	r, _ := g.release()
	return strings.Join(append([]string{parts[0], r["DISTRIBUTION"]}, parts[1:]...), "/")
}

func (g *Guest) kubeConfig() (c kubeConfig) {
	return g.kubeConfigIn(g.kubePlace("/etc/rancher", "config.yaml"))
}

// kubeConfigIn is config.yaml in another place.
func (g *Guest) kubeConfigIn(file string) (c kubeConfig) {
	text, _ := g.Read(file)
	_ = yaml.Unmarshal(text, &c) // one that can't be read joins nothing
	return c
}

// vip is the address that its kube-vip is to hold.
func (g *Guest) vip() string {
	text, _ := g.Read(g.kubePlace("/var/lib/rancher", "agent/pod-manifests/kube-vip.yaml"))
	var pod struct {
		Spec struct {
			Containers []struct {
				Env []struct{ Name, Value string } `json:"env"`
			} `json:"containers"`
		} `json:"spec"`
	}
	if yaml.Unmarshal(text, &pod) != nil {
		return ""
	}
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == "address" {
				return e.Value
			}
		}
	}
	return ""
}

// settleKube has all guests do what they would have done by now: install, start, join.
func settleKube(on Machine) {
	guests := on.Guests()
	for range len(guests) + 1 { // each may have waited for another one
		for _, g := range guests {
			if _, asked := g.release(); asked {
				g.installKube(on)
				g.joinKube(on)
			}
		}
	}
}

// installKube does what the script of the first-boot data does.
func (g *Guest) installKube(on Machine) {
	if g.Kube.Installed != "" || g.Kube.Failed != "" {
		return
	}
	r, _ := g.release()
	g.makeDirs("/run/proxplane")
	sum, err := on.Fetch(r["URL"])
	switch {
	case err != nil:
		g.Kube.Failed = "cannot fetch " + r["URL"]
	case sum != r["SHA256"]:
		g.Kube.Failed = "the checksum of " + r["URL"] + " isn't " + r["SHA256"]
	default:
		g.Kube.Installed = r["VERSION"]
		g.Files[phaseFile] = []byte("started " + r["DISTRIBUTION"] + " " + r["VERSION"] + "\n")
		return
	}
	g.Files[phaseFile] = []byte("failed: " + g.Kube.Failed + "\n")
	g.Files["/var/log/cloud-init-output.log"] = []byte("proxplane: fetching " + r["DISTRIBUTION"] + " " + r["VERSION"] + "\nproxplane: failed: " + g.Kube.Failed + "\n")
}

// joinKube makes a cluster, or joins one through its VIP.
func (g *Guest) joinKube(on Machine) {
	s := &g.Kube
	if s.Installed == "" || s.Joined != "" || s.Stopped || s.Removed {
		return
	}
	c, kubes := g.kubeConfig(), on.Kubes()
	k := kubes[c.Token]
	if k != nil && k.Nodes[c.Name] != nil && k.Nodes[c.Name].Birth == g.Birth {
		// It has joined before, and what it needs is on its disk.
	} else if c.Server == "" {
		if k = kubes[c.Token]; k == nil || k.Nodes[c.Name] == nil || k.Nodes[c.Name].Birth != g.Birth { // nothing is on its disk
			k = &Kube{Token: c.Token, VIP: g.vip(), Nodes: map[string]*KubeNode{}, Namespaces: map[string]bool{"default": true, "kube-system": true}}
			kubes[c.Token] = k
		}
	} else {
		k = kubeAt(on, c.Server)
		if k == nil {
			s.Log = fmt.Sprintf("Waiting to retrieve agent configuration; server is not ready: failed to get CA certs: Get %q: dial tcp: connect: no route to host", c.Server+"/cacerts")
			return
		}
		if k.Token != c.Token {
			s.Log = "level=fatal msg=\"starting kubernetes: preparing server: failed to validate token: bad token\""
			return
		}
	}
	n := k.Nodes[c.Name]
	if n != nil && n.Birth != g.Birth {
		s.Log = "Waiting to retrieve agent configuration; server is not ready: Node password rejected, duplicate hostname or contents of node password file may not match server node-passwd entry"
		return
	}
	if n == nil {
		_, err := g.Read(g.kubePlace("/var/lib/rancher", "agent/pod-manifests/kube-vip.yaml"))
		n = &KubeNode{Birth: g.Birth, UID: fmt.Sprintf("%s-%d", g.Birth, on.Now().UnixNano()), Server: err == nil, Version: s.Installed, Labels: c.Labels, Taints: c.Taints}
		k.Nodes[c.Name] = n
	}
	n.Left, n.Stale = false, time.Time{}
	s.Installed, s.Joined, s.Log = n.Version, k.Token, "Node "+c.Name+" is registered"
	if n.Server {
		g.writeKubeFiles(k, on.Now())
	}
}

// kubeAt is the cluster whose VIP a URL names, if it is held.
func kubeAt(on Machine, url string) *Kube {
	host := strings.TrimPrefix(url, "https://")
	if at := strings.LastIndex(host, ":"); at > 0 {
		host = host[:at]
	}
	kubes := on.Kubes()
	for _, token := range slices.Sorted(maps.Keys(kubes)) {
		if k := kubes[token]; k.VIP == strings.Trim(host, "[]") && k.alive(on) {
			return k
		}
	}
	return nil
}

// runs finds the guest that is a node now; nil: it doesn't run.
func (k *Kube) runs(on Machine, name string) *Guest {
	for _, g := range on.Guests() {
		if g.Kube.Joined == k.Token && !g.Kube.Stopped && !g.Kube.Removed && g.kubeConfig().Name == name {
			return g
		}
	}
	return nil
}

// alive reports whether etcd has a quorum, without which there is no API server and no VIP.
func (k *Kube) alive(on Machine) bool {
	members, running := 0, 0
	for name, n := range k.Nodes {
		if n.Server && !n.Left {
			members++
			if k.runs(on, name) != nil {
				running++
			}
		}
	}
	return running*2 > members
}

// holder is the control plane that has the VIP; empty: none.
func (k *Kube) holder(on Machine) string {
	for _, name := range slices.Sorted(maps.Keys(k.Nodes)) {
		if k.Nodes[name].Server && k.runs(on, name) != nil && k.alive(on) {
			return name
		}
	}
	return ""
}

// progIP shows the VIP where it is held, and nothing else.
func progIP(p *process, _ []string) int {
	settleKube(p.on)
	if k := p.on.Kubes()[p.guest.Kube.Joined]; k != nil && k.holder(p.on) == p.guest.kubeConfig().Name {
		fmt.Fprintf(&p.out, "2: eth0    inet %s/32 scope global eth0\n", k.VIP)
	}
	return 0
}

// writeKubeFiles writes what a control plane has.
func (g *Guest) writeKubeFiles(k *Kube, now time.Time) {
	r, _ := g.release()
	file := g.kubePlace("/etc/rancher", r["DISTRIBUTION"]+".yaml")
	g.Files[file] = fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: default
  cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Q0E=}
contexts:
- name: default
  context: {cluster: default, user: default}
current-context: default
users:
- name: default
  user: {client-certificate-data: Q0VSVA==, client-key-data: %q}
`, base64.StdEncoding.EncodeToString([]byte("KEY-of-"+k.VIP)))
	for _, dir := range []string{"server/db/snapshots", "server/tls"} {
		g.makeDirs(g.kubePlace("/var/lib/rancher", dir))
	}
	g.Files[g.certificateFile()] = certificate(now)
	g.Files[g.kubePlace("/var/lib/rancher", "server/token")] = []byte("K10ab::server:" + k.Token + "\n")
}

// certificateFile is where a control plane has the certificate of its API server.
func (g *Guest) certificateFile() string {
	return g.kubePlace("/var/lib/rancher", "server/tls/serving-kube-apiserver.crt")
}

// certifiedUntil is when that certificate expires; false: there is none.
func (g *Guest) certifiedUntil() (time.Time, bool) {
	block, _ := pem.Decode(g.Files[g.certificateFile()])
	if block == nil {
		return time.Time{}, false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return c.NotAfter, true
}

// certificate is one that is valid for a year, as those of control planes are.
func certificate(now time.Time) []byte {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // there is always randomness
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now, NotAfter: now.AddDate(1, 0, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, public, private)
	if err != nil {
		panic(err) // nothing of it comes from outside
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}
