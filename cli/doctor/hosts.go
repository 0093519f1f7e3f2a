package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/model"
)

// snippets checks the files that machines use and Proxmox has no call for: those
// that must be on nodes, and whether nodes can be logged in to for those that
// proxplane brings.
func (e *examination) snippets() {
	files := map[string]users{} // by volume, and node
	brought := users{}          // by node
	for _, v := range e.want.VMs {
		own := v.Seed != nil && len(v.Seed.Snippets) > 0
		for _, node := range e.nodesFor(v) {
			for _, volume := range snippetsOf(v) {
				if files[volume] == nil {
					files[volume] = users{}
				}
				files[volume].add(node, v)
			}
			if n := e.have.Nodes[node]; own && n != nil && n.Online {
				brought.add(node, v)
			}
		}
	}
	if len(files)+len(brought) == 0 {
		e.skip(areaManifests, "snippets: none are used; first-boot data goes by ISO image, which takes no SSH", "")
		return
	}
	if len(files) > 0 {
		e.onNodes(files)
	}
	if len(brought) > 0 {
		e.logins(model.NamesOf(brought))
	}
}

// snippetsOf are the snippets that a machine uses, but for those with its own first-boot
// data, which proxplane brings.
func snippetsOf(v model.VM) []string {
	files := slices.Clone(v.Scripts)
	if h := v.Options["hookscript"]; h != "" && !slices.Contains(files, h) {
		files = append(files, h)
	}
	return files
}

// onNodes checks which of the nodes that machines may go to have the snippets that
// they need.
func (e *examination) onNodes(files map[string]users) {
	if err := e.c.Observer.Snippets(e.ctx); err != nil {
		e.warn(areaManifests, "the snippets on the storages can't be listed: "+ui.ShortCause(err), "")
		return
	}
	there := e.c.Observer.Snapshot().Snippets
	for _, volume := range model.NamesOf(files) {
		var with, without, who []string
		for _, node := range model.NamesOf(files[volume]) {
			who = append(who, files[volume][node]...)
			f, ok := there[volume]
			if s := e.have.Storages[model.StorageOf(volume)]; ok && (s != nil && s.Shared || f.Node == node || slices.Contains(f.Also, node)) {
				with = append(with, node)
			} else {
				without = append(without, node)
			}
		}
		model.SortNames(who)
		e.snippet(volume, ui.AndList(slices.Compact(who)), with, without)
	}
}

func (e *examination) snippet(volume, who string, with, without []string) {
	do := "Proxmox has no call to upload snippets: put the file there by SSH (scp, into the folder snippets of the storage); a hookscript must be executable."
	if strings.HasSuffix(volume, ":snippets/"+hookblock.Script) {
		do = "Put it there: proxplane hook install --node " + strings.Join(without, " --node ")
	}
	switch {
	case len(without) == 0:
		e.good(areaManifests, "snippet %s is on %s", volume, strings.Join(with, ", "))
	case len(with) > 0:
		e.warn(areaManifests, fmt.Sprintf("snippet %s, needed by %s, isn't on %s, so that leaves %s", volume, who, strings.Join(without, ", "), strings.Join(with, ", ")), do)
	case !e.have.Root: // Proxmox shows snippets to few
		e.warn(areaManifests, fmt.Sprintf("snippet %s, needed by %s, isn't shown to these credentials, so it couldn't be checked", volume, who), do)
	default:
		e.bad(areaManifests, fmt.Sprintf("snippet %s, needed by %s, isn't on %s", volume, who, strings.Join(without, ", ")), do)
	}
}

// loginPatience is how long a node may take to answer.
const loginPatience = 5 * time.Second

// logins tries to log in to nodes as spec.ssh of the Provider says. No key is
// trusted that wasn't before.
func (e *examination) logins(nodes []string) {
	hosts, err := target.Hosts(e.u, e.conn.SSH)
	if err == nil && hosts == nil {
		err = act.ErrNoSSH
	}
	if err != nil {
		e.bad(areaManifests, "snippets are copied to nodes by SSH: "+err.Error(), "")
		return
	}
	trustFirst := hosts.TrustFirst
	hosts.TrustFirst, hosts.Timeout = false, loginPatience
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			conn, err := act.Login(e.ctx, e.c.Client, hosts, node)
			if err == nil {
				err = conn.Close()
			}
			errs[i] = err
		})
	}
	all.Wait()
	var open, first []string
	for i, node := range nodes {
		switch err := errs[i]; {
		case err == nil:
			open = append(open, node)
		case trustFirst && errors.Is(err, ssh.ErrHostKeyUnknown):
			first = append(first, node)
		default:
			e.bad(areaManifests, fmt.Sprintf("snippets are copied to %s by SSH: %s", node, ui.ShortCause(err)), strings.Join(ui.WhatToDo(err, e.conn), " "))
		}
	}
	if len(open) > 0 {
		e.good(areaManifests, "snippets are copied by %s, and %s it in", hosts, letIn(open))
	}
	if len(first) > 0 {
		e.skip(areaManifests, fmt.Sprintf("snippets are copied by %s; the key of %s isn't known yet, and is trusted when it is seen first", hosts, strings.Join(first, ", ")), "")
	}
}

func letIn(nodes []string) string {
	if len(nodes) == 1 {
		return nodes[0] + " lets"
	}
	return strings.Join(nodes, ", ") + " let"
}
