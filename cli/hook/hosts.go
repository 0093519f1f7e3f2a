package hook

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/login"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/pve"
)

// hookHosts are the hosts that commands about the hook are for.
type hookHosts struct {
	target.Target
	login.SSH
	nodes     []string
	addresses map[string]string
	storage   string
	print     bool
}

func (h *hookHosts) flags(cmd *cobra.Command) {
	h.Target.Flags(cmd, false)
	fs := cmd.Flags()
	h.SSH.Flags(fs, "root without it")
	fs.StringSliceVar(&h.nodes, "node", nil, "`NAME` of a host; without it, all that are online")
	fs.StringToStringVar(&h.addresses, "node-address", nil, "`NAME=ADDRESS` of a host for SSH, if not the one in the cluster")
	fs.Lookup("node-address").DefValue = "" // not []
	fs.StringVar(&h.storage, "storage", "local", "`STORAGE` for snippets")
	fs.BoolVar(&h.print, "print", false, "print the commands, do nothing")
}

// volume is the hook, as VMs name it.
func (h *hookHosts) volume() string { return h.storage + ":snippets/" + hookblock.Script }

// place is where the hook is to be.
type place struct {
	node, address, file string
}

// sshLine is the command that runs another one on a host.
func (h *hookHosts) sshLine(p place, command string) string {
	host, port := p.hostPort()
	if port != "" {
		port = "-p " + port + " "
	}
	return fmt.Sprintf("ssh %s%s %s", port, ui.Quoted(h.as()+"@"+host), ui.Quoted(command))
}

// scpLine is the command that copies a file to where the hook is to be.
func (h *hookHosts) scpLine(p place, file string) string {
	host, port := p.hostPort()
	if port != "" {
		port = "-P " + port + " "
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("scp %s%s %s", port, ui.Quoted(file), ui.Quoted(h.as()+"@"+host+":"+p.file))
}

// as is whom to log in as.
func (h *hookHosts) as() string { return cmp.Or(h.User, "root") }

// hostPort are the address and the port of the host's SSH server; "": the usual one.
func (p place) hostPort() (host, port string) {
	if host, port, err := net.SplitHostPort(p.address); err == nil {
		return host, port
	}
	return strings.Trim(p.address, "[]"), ""
}

// way is how to log in to nodes: as the flags say, or the Provider.
func (h *hookHosts) way(ctx context.Context, u *ui.UI, c *target.Site) (ssh.Config, error) {
	hosts, err := target.Hosts(u, c.Connection.SSH)
	if err != nil || hosts == nil || h.Identity != "" {
		return h.Config(ctx, u, "")
	}
	config := hosts.Config
	config.User = cmp.Or(h.User, config.User)
	config.TrustFirst = config.TrustFirst || h.TrustNew
	if len(h.HostKeys) > 0 {
		config.Fingerprints = h.HostKeys
	}
	return config, nil
}

// places are where the hook is to be on each node.
func (h *hookHosts) places(ctx context.Context, c *target.Site) ([]place, error) {
	s, err := c.Client.StorageConfig(ctx, h.storage)
	if err != nil {
		return nil, c.Fail(fmt.Errorf("read storage %s: %w", h.storage, err))
	}
	dir, err := snippetsDir(s)
	if err != nil {
		return nil, err
	}
	members, err := c.Client.Cluster().Status(ctx)
	if err != nil {
		return nil, c.Fail(err)
	}
	var places []place
	var names []string
	for _, m := range members {
		if m.Type != "node" {
			continue
		}
		names = append(names, m.Name)
		asked := slices.Contains(h.nodes, m.Name)
		if !asked && (len(h.nodes) > 0 || !m.Online || len(s.Nodes) > 0 && !slices.Contains(s.Nodes, m.Name)) {
			continue
		}
		if len(s.Nodes) > 0 && !slices.Contains(s.Nodes, m.Name) {
			return nil, fmt.Errorf("storage %s isn't on node %s; it is on %s", s.Name, m.Name, strings.Join(s.Nodes, ", "))
		}
		places = append(places, place{m.Name, h.addressOf(m, c), path.Join(dir, hookblock.Script)})
	}
	for _, n := range h.nodes {
		if !slices.Contains(names, n) {
			return nil, fmt.Errorf("there is no node %s; there are %s", n, strings.Join(names, ", "))
		}
	}
	return places, nil
}

// addressOf is where a node can be reached. One that is alone may not say.
func (h *hookHosts) addressOf(m pve.ClusterMember, c *target.Site) string {
	address := h.addresses[m.Name]
	if hosts := c.Connection.SSH; hosts != nil && address == "" {
		address = hosts.Addresses[m.Name]
	}
	if u, err := url.Parse(c.Client.Endpoint()); m.IP == "" && err == nil {
		return cmp.Or(address, u.Hostname())
	}
	return cmp.Or(address, m.IP)
}

// snippetsDir is where a storage has its snippets.
func snippetsDir(s pve.StorageConfig) (string, error) {
	dir, ok := s.Folder("snippets")
	if !ok {
		return "", fmt.Errorf("storage %s is of type %s, which can't hold snippets", s.Name, s.Type)
	}
	if !slices.Contains(s.Content, "snippets") {
		return "", ui.Advise(fmt.Errorf("storage %s isn't for snippets", s.Name),
			fmt.Sprintf("Allow it: pvesm set %s --content %s", s.Name, strings.Join(append(slices.Clone(s.Content), "snippets"), ",")))
	}
	return dir, nil
}
