package cluster

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed node-script.sh
var nodeScript string

// Files in a node that proxplane writes.
const (
	nodeProgram = "/usr/local/sbin/proxplane-node"
	releaseFile = "/etc/proxplane/release"
	imagesFile  = "/etc/proxplane/images"
	envFile     = "/etc/proxplane/env"
	phaseFile   = "/run/proxplane/phase"

	ownManifest = "proxplane-" // how manifests of the file begin, in the folder of the distribution
)

// cloudConfig is what cloud-init reads.
type cloudConfig struct {
	Hostname      string      `yaml:"hostname"`
	PackageUpdate bool        `yaml:"package_update,omitempty"`
	Packages      []string    `yaml:"packages,omitempty"`
	SSHKeys       []string    `yaml:"ssh_authorized_keys,omitempty"`
	WriteFiles    []writeFile `yaml:"write_files"`
	RunCmd        [][]string  `yaml:"runcmd"`
}

type writeFile struct {
	Path        string `yaml:"path"`
	Permissions string `yaml:"permissions"`
	Content     string `yaml:"content"`
}

// UserData returns the first-boot data of a machine; token is the cluster's.
func UserData(r Record, n Node, token string) (string, error) {
	f := r.File
	c := cloudConfig{Hostname: n.Name, SSHKeys: f.Provider.SSHKeys}
	if f.Provider.Template == "" { // cloud images don't have it
		c.PackageUpdate, c.Packages = true, []string{"qemu-guest-agent"}
		c.RunCmd = append(c.RunCmd, []string{"systemctl", "enable", "--now", "qemu-guest-agent"})
	}
	var err error
	if c.WriteFiles, err = nodeFiles(f, r.Release, n, token); err != nil {
		return "", err
	}
	if n.Server() {
		text, err := secretsText(r)
		if err != nil {
			return "", err
		}
		if text != "" {
			c.WriteFiles = append(c.WriteFiles, writeFile{secretsFile, "0600", text})
		}
	}
	c.RunCmd = append(c.RunCmd, []string{nodeProgram})
	text, err := yaml.Marshal(c)
	return "#cloud-config\n" + string(text), err
}

// nodeFiles are the files that a machine gets at its first boot.
func nodeFiles(f *File, r Release, n Node, token string) (files []writeFile, err error) {
	d := distributions[f.Kubernetes.Distribution]
	write := func(path, mode, content string) {
		files = append(files, writeFile{path, mode, content})
	}
	write(nodeProgram, "0755", nodeScript)
	write(releaseFile, "0644", releaseText(d, r, n.Server()))
	if text := imagesText(f); text != "" {
		write(imagesFile, "0644", text)
	}
	if env := f.Kubernetes.Env; len(env) > 0 {
		var text strings.Builder
		for _, k := range slices.Sorted(maps.Keys(env)) {
			fmt.Fprintf(&text, "%s=%s\n", k, env[k])
		}
		write(envFile, "0600", text.String())
	}
	config, err := yaml.Marshal(nodeConfig(f, n, token))
	if err != nil {
		return nil, err
	}
	write(d.config("config.yaml"), "0600", string(config))
	if len(f.Kubernetes.Registries) > 0 {
		text, err := yaml.Marshal(f.Kubernetes.Registries)
		if err != nil {
			return nil, err
		}
		write(d.config("registries.yaml"), "0600", string(text))
	}
	if d.name == "k3s" {
		write("/etc/systemd/system/"+d.unit(n.Server())+".service", "0644", k3sUnit(n.Server()))
	}
	if n.Server() {
		pod, err := kubeVIP(f)
		if err != nil {
			return nil, err
		}
		write(d.data("agent/pod-manifests/kube-vip.yaml"), "0600", pod)
		all, err := manifests(f)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			write(d.data("server/manifests/"+ownManifest+name+".yaml"), "0600", all[name])
		}
	}
	return files, nil
}

// releaseText is the file that says what a node installs.
func releaseText(d *distribution, r Release, server bool) string {
	return fmt.Sprintf("DISTRIBUTION=%s\nVERSION='%s'\nURL='%s'\nSHA256=%s\nUNIT=%s\n", d.name, r.Version, r.URL, r.Checksum, d.unit(server))
}

// imagesText is the file that says which archives of images a node fetches; empty: none.
func imagesText(f *File) string {
	var list strings.Builder
	for _, a := range f.Kubernetes.Images {
		fmt.Fprintf(&list, "%s %s\n", a.Checksum, a.URL)
	}
	return list.String()
}

// nodeConfig is config.yaml of a node. The first control plane makes the cluster; all others join
// through the VIP.
func nodeConfig(f *File, n Node, token string) map[string]any {
	k, d := &f.Kubernetes, distributions[f.Kubernetes.Distribution]
	pool := f.Pool(n.Pool)
	c := map[string]any{}
	if n.Server() {
		maps.Copy(c, k.Config)
		c["tls-san"] = append([]string{f.Provider.VIP}, k.SANs...)
		c["write-kubeconfig-mode"] = "0600"
		c["disable"] = disabled(f)
		switch {
		case d.name == "k3s" && k.CNI == "none":
			c["flannel-backend"], c["disable-network-policy"] = "none", true
		case d.name != "k3s" && k.CNI != "":
			c["cni"] = k.CNI
		}
		for key, value := range map[string]string{"cluster-cidr": k.PodCIDR, "service-cidr": k.ServiceCIDR, "etcd-snapshot-schedule-cron": k.Snapshots.Schedule} {
			if value != "" {
				c[key] = value
			}
		}
		if k.Snapshots.Retention > 0 {
			c["etcd-snapshot-retention"] = k.Snapshots.Retention
		}
		if n.First && d.name == "k3s" {
			c["cluster-init"] = true
		}
	}
	c["token"], c["node-name"] = token, n.Name
	if !n.First {
		c["server"] = fmt.Sprintf("https://%s:%d", hostOf(f.Provider.VIP), d.join)
	}
	labels := []string{"proxplane.io/pool=" + n.Pool}
	args := maps.Clone(k.KubeletArgs)
	if pool != nil {
		for _, l := range slices.Sorted(maps.Keys(pool.Labels)) {
			labels = append(labels, l+"="+pool.Labels[l])
		}
		if len(pool.Taints) > 0 {
			c["node-taint"] = pool.Taints
		}
		if args == nil {
			args = map[string]string{}
		}
		maps.Copy(args, pool.KubeletArgs)
	}
	c["node-label"] = labels
	var list []string
	for _, a := range slices.Sorted(maps.Keys(args)) {
		list = append(list, a+"="+args[a])
	}
	if len(list) > 0 {
		c["kubelet-arg"] = list
	}
	if list, none := c["disable"].([]string); none && len(list) == 0 {
		delete(c, "disable")
	}
	return c
}

// disabled are the packaged components that aren't wanted.
func disabled(f *File) []string {
	list := slices.Clone(f.Kubernetes.Disable)
	d := distributions[f.Kubernetes.Distribution]
	// RKE2 brings another ingress controller, and k3s brings Traefik whether it is wanted or not.
	if f.Components.Traefik.Enabled != (d.name == "k3s") && !slices.Contains(list, d.ingress) {
		list = append(list, d.ingress)
	}
	return list
}

// hostOf is an address as URLs have it.
func hostOf(addr string) string {
	if isIPv6(addr) {
		return "[" + addr + "]"
	}
	return addr
}

// k3sUnit is the service of a node: k3s is a single file, without one.
func k3sUnit(server bool) string {
	role := "agent"
	if server {
		role = "server"
	}
	return `[Unit]
Description=Lightweight Kubernetes
Wants=network-online.target
After=network-online.target

[Install]
WantedBy=multi-user.target

[Service]
Type=notify
EnvironmentFile=-` + envFile + `
KillMode=process
Delegate=yes
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
TimeoutStartSec=0
Restart=always
RestartSec=5s
ExecStartPre=-/sbin/modprobe br_netfilter
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/local/bin/k3s ` + role + `
`
}
