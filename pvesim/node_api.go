package pvesim

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// nodeRoutes are the calls about a node.
func nodeRoutes() map[string]handler {
	return map[string]handler{
		"GET /nodes":                                    listNodes,
		"GET /nodes/{node}/status":                      nodeStatus,
		"GET /nodes/{node}/time":                        nodeTime,
		"GET /nodes/{node}/certificates/info":           nodeCertificates,
		"GET /nodes/{node}/dns":                         nodeDNS,
		"PUT /nodes/{node}/dns":                         setNodeDNS,
		"GET /nodes/{node}/hosts":                       nodeHosts,
		"POST /nodes/{node}/hosts":                      setNodeHosts,
		"GET /nodes/{node}/config":                      nodeConfig,
		"PUT /nodes/{node}/config":                      setNodeConfig,
		"GET /nodes/{node}/subscription":                nodeSubscription,
		"GET /nodes/{node}/capabilities/qemu/cpu":       cpuModels,
		"GET /nodes/{node}/capabilities/qemu/machines":  machineTypes,
		"GET /nodes/{node}/capabilities/qemu/migration": migrationCaps,
		"POST /nodes/{node}/vzdump":                     vzdump,
	}
}

func listNodes(c *call) (any, error) {
	list := []map[string]any{}
	for _, name := range c.nodeNames() {
		n := c.state.Nodes[name]
		m := c.nodeResource(n, c.has(c.who, "/nodes/"+name, "Sys.Audit"))
		m["ssl_fingerprint"] = nil
		if n.State == Online {
			m["ssl_fingerprint"] = c.fingerprint(name)
		}
		list = append(list, m)
	}
	return list, nil
}

// fingerprint stands for the certificate of a node.
func (s *Sim) fingerprint(node string) string {
	if fp := s.certs[node]; fp != "" {
		return fp
	}
	return strings.TrimSuffix(strings.Repeat("00:", 32), ":")
}

// figuresOf is a total with what is used of it.
func figuresOf(total, used int64) map[string]any {
	return map[string]any{"total": total, "used": used, "free": total - used, "avail": total - used}
}

func nodeStatus(c *call) (any, error) {
	n := c.state.Nodes[c.node()]
	if n == nil {
		return nil, die("no such cluster node '%s'", c.node())
	}
	kernel := "6.17.2-1-pve"
	if !c.atLeast(9) {
		kernel = "6.8.12-9-pve"
	}
	memory := figuresOf(n.Memory, c.nodeMemory(n))
	memory["available"] = memory["free"]
	delete(memory, "avail")
	return map[string]any{
		"uptime": int(c.now().Sub(n.Booted) / time.Second), "idle": 0, "cpu": 0.02, "wait": 0,
		"loadavg":        []string{"0.10", "0.10", "0.10"},
		"kversion":       "Linux " + kernel + " #1 SMP PREEMPT_DYNAMIC PMX",
		"current-kernel": map[string]any{"sysname": "Linux", "release": kernel, "version": "#1 SMP PREEMPT_DYNAMIC PMX", "machine": "x86_64"},
		"boot-info":      map[string]any{"mode": "efi", "secureboot": 0},
		"cpuinfo": map[string]any{
			"model": "Simulated CPU", "sockets": max(1, n.NUMA), "cores": n.CPUs, "cpus": n.CPUs,
			"mhz": "2400.000", "flags": "vmx aes", "hvm": "1", "user_hz": 100,
		},
		"memory": memory, "swap": map[string]any{"total": 0, "used": 0, "free": 0},
		"ksm":        map[string]any{"shared": 0},
		"rootfs":     figuresOf(n.Root, n.Root/4),
		"pveversion": fmt.Sprintf("pve-manager/%s/%s", c.schema.Version, c.schema.RepoID),
	}, nil
}

func nodeTime(c *call) (any, error) {
	now := c.now().Unix()
	return map[string]any{"timezone": "UTC", "time": now, "localtime": now}, nil
}

// nodeFile is a small text or setting of a node.
func (c *call) nodeFile(name string) string { return c.state.Nodes[c.node()].Conf[name] }

func nodeDNS(c *call) (any, error) {
	out := map[string]any{"search": "lan", "dns1": "192.168.77.1"}
	for _, k := range []string{"search", "dns1", "dns2", "dns3"} {
		if v := c.nodeFile("dns/" + k); v != "" {
			out[k] = v
		}
	}
	return out, nil
}

func setNodeDNS(c *call) (any, error) {
	for _, k := range []string{"search", "dns1", "dns2", "dns3"} {
		c.state.Nodes[c.node()].Conf["dns/"+k] = c.params.Str(k)
	}
	return nil, nil
}

// hosts is the file of names that a node has.
func (n *Node) hosts() (text, digest string) {
	text, written := n.Conf["hosts"]
	if !written {
		text = "127.0.0.1 localhost.localdomain localhost\n" + n.IP + " " + n.Name + ".lan " + n.Name + "\n"
	}
	return text, sectionDigest(map[string]string{"hosts": text})
}

func nodeHosts(c *call) (any, error) {
	text, digest := c.state.Nodes[c.node()].hosts()
	return map[string]any{"data": text, "digest": digest}, nil
}

func setNodeHosts(c *call) (any, error) {
	if _, digest := c.state.Nodes[c.node()].hosts(); c.params.Has("digest") {
		if err := c.checkDigest(digest); err != nil {
			return nil, err
		}
	}
	c.state.Nodes[c.node()].Conf["hosts"] = c.params.Str("data")
	return nil, nil
}

const (
	nodeOption  = "option/"
	nodeWritten = "written" // there is a config file
)

// options is the config file of a node; nil if there is none.
func (n *Node) options() map[string]string {
	if n.Conf[nodeWritten] == "" {
		return nil
	}
	out := map[string]string{"description": ""}
	for k, v := range n.Conf {
		if name, ok := strings.CutPrefix(k, nodeOption); ok {
			out[name] = v
		}
	}
	return out
}

func nodeConfig(c *call) (any, error) {
	options := c.state.Nodes[c.node()].options()
	out := map[string]any{}
	for k, v := range options {
		out[k] = v
	}
	if want := c.params.Str("property"); want != "" {
		if v, ok := out[want]; ok {
			return map[string]any{want: v}, nil
		}
		return map[string]any{}, nil
	}
	if options != nil {
		out["digest"] = sectionDigest(options)
	}
	return out, nil
}

func setNodeConfig(c *call) (any, error) {
	n := c.state.Nodes[c.node()]
	if n.options() != nil {
		if err := c.checkDigest(sectionDigest(n.options())); err != nil {
			return nil, err
		}
	}
	given := c.section("node")
	for _, k := range sortedKeys(given) {
		if k != "description" && strings.Contains(given[k], "\n") {
			return nil, die("detected invalid newline inside property '%s'", k)
		}
	}
	if text, ok := given["description"]; ok {
		if given["description"] = strings.TrimRight(text, "\n"); given["description"] != "" {
			given["description"] += "\n"
		}
	}
	n.Conf[nodeWritten] = "1"
	for k, v := range given {
		n.Conf[nodeOption+k] = v
	}
	for _, k := range c.params.List("delete") {
		delete(n.Conf, nodeOption+k)
	}
	return nil, nil
}

func nodeSubscription(*call) (any, error) {
	return map[string]any{
		"status": "notfound", "message": "There is no subscription key",
		"serverid": "00000000000000000000000000000000", "url": "https://www.proxmox.com/proxmox-ve/pricing",
	}, nil
}

//go:embed facts/cpus.txt
var cpuText string

func cpuModels(*call) (any, error) {
	list := []map[string]any{}
	for line := range strings.Lines(cpuText) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		m := map[string]any{"vendor": f[0], "name": f[1], "custom": 0}
		if slices.Contains(f, "abstract") {
			m["abstract"] = 1
		}
		list = append(list, m)
	}
	return list, nil
}

func migrationCaps(*call) (any, error) { return map[string]any{"has-dbus-vmstate": 1}, nil }
