// Package stage simulates a Proxmox cluster with the nouns of package model, to try plans
// out: it carries out actions at once, and shows what is observed. There is no client, no
// task and no time.
//
// Tests of package plan run stories on it, and package privileges uses it to find all
// actions of plans. Guests are as Proxmox would make them, and it refuses what Proxmox
// refuses.
package stage

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// World is the cluster.
type World struct {
	Release, Minor int
	Root           bool // see [model.Observed]
	Nodes          map[string]*model.Node
	Storages       map[string]*model.Storage
	Guests         map[int]*model.Guest // guests with all facts
	Files          map[string]model.File
	Snippets       map[string]model.File
	Rules          map[string][]string
	HA             map[string]map[string]string
	Dirs           map[string]model.Dir
	Log            []string // the actions that were done

	// Live reports whether a change of an option applies to a running guest; nil: all do.
	Live func(g *model.Guest, option string) bool
	// List returns what the list of guests shows of a config; nil: the name.
	List func(g *model.Guest)
	// Address is the address that guest agents report.
	Address netip.Prefix

	digest int
}

// New returns an empty cluster.
func New() *World {
	return &World{
		Release: 9, Nodes: map[string]*model.Node{}, Storages: map[string]*model.Storage{}, Guests: map[int]*model.Guest{}, Files: map[string]model.File{},
		Snippets: map[string]model.File{}, Rules: map[string][]string{}, HA: map[string]map[string]string{}, Dirs: map[string]model.Dir{},
	}
}

// NextDigest returns a new digest for a changed config.
func (w *World) NextDigest() string {
	w.digest++
	return fmt.Sprintf("%040d", w.digest)
}

// Observe returns the cluster as far as it was requested. Bridges, mappings, rights and URLs aren't part of it and
// stay unknown.
func (w *World) Observe(l model.Look) *model.Observed {
	o := &model.Observed{Release: w.Release, Minor: w.Minor, Root: w.Root, Nodes: w.Nodes, Storages: w.Storages, Guests: map[int]*model.Guest{}, IDs: map[int]bool{}}
	for id, g := range w.Guests {
		o.Guests[id] = shown(g, l)
	}
	for _, id := range l.IDs {
		o.IDs[id] = w.Guests[id] != nil
	}
	if l.HA {
		o.Rules, o.HA = maps.Clone(w.Rules), maps.Clone(w.HA)
	}
	if l.Firewall {
		o.Firewall = &model.ClusterFirewall{}
	}
	if l.FirewallOff {
		o.FirewallOff = new(bool)
	}
	if l.Files {
		o.Files = maps.Clone(w.Files)
	}
	if l.Snippets {
		o.Snippets = maps.Clone(w.Snippets)
	}
	if l.Dirs {
		o.Dirs = maps.Clone(w.Dirs)
	}
	if l.Volumes {
		o.Volumes = w.volumes()
	}
	for _, node := range l.Disks {
		if o.Disks == nil {
			o.Disks = map[string]model.Volumes{}
		}
		o.Disks[node] = w.disksOn(node)
	}
	o.Bridges, o.Rights, o.Mappings, o.URLs = map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]model.URLState{}
	for names, to := range map[*[]string]map[string]map[string]bool{&l.Bridges: o.Bridges, &l.Rights: o.Rights, &l.Mappings: o.Mappings} {
		for _, name := range *names {
			to[name] = nil
		}
	}
	for _, key := range l.URLs {
		o.URLs[key] = model.URLState{}
	}
	return o
}

// shown is what is seen of a guest.
func shown(g *model.Guest, l model.Look) *model.Guest {
	seen := *g
	seen.Config, seen.Snapshots, seen.Addresses, seen.Agent, seen.Firewall = nil, nil, nil, "", nil
	seen.StalePower = !slices.Contains(l.Status, g.VMID)
	seen.Shown = true
	if slices.Contains(l.Configs, g.VMID) {
		c := *g.Config
		seen.Config = &c
	}
	if slices.Contains(l.Snapshots, g.VMID) {
		seen.Snapshots = append([]model.SnapshotInfo{}, g.Snapshots...)
	}
	if slices.Contains(l.Agents, g.VMID) || slices.Contains(l.Ready, g.VMID) {
		seen.Agent, seen.Addresses = g.Agent, g.Addresses
	}
	if slices.Contains(l.Firewalls, g.VMID) {
		seen.Firewall = firewallOf(g)
	}
	return &seen
}

// disksOn returns the disks on the storages of a node; "": on those that nodes share.
func (w *World) disksOn(node string) model.Volumes {
	on := model.Volumes{}
	for name, list := range w.volumes() {
		shared := w.Storages[name].Shared
		if shared == (node == "") {
			on[name] = slices.DeleteFunc(list, func(v model.Volume) bool { return !shared && v.Node != node })
		}
	}
	return on
}

// volumes returns the disks on the storages.
func (w *World) volumes() model.Volumes {
	all := model.Volumes{}
	for name := range w.Storages {
		all[name] = nil
	}
	for id, g := range w.Guests {
		for _, d := range g.Config.Disks {
			if on, there := all[d.Storage]; there {
				all[d.Storage] = append(on, model.Volume{ID: d.Volume, Node: g.Node, VMID: id})
			}
		}
	}
	return all
}
