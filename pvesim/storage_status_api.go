package pvesim

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/pve/schema"
)

func storageStatusRoutes() map[string]handler {
	return map[string]handler{
		"GET /nodes/{node}/storage":                    listNodeStorages,
		"GET /nodes/{node}/storage/{storage}":          storageFolders,
		"GET /nodes/{node}/storage/{storage}/status":   storageStatus,
		"GET /nodes/{node}/storage/{storage}/identity": storageIdentity,
	}
}

// storageInfo is a storage as a node sees it. Storages that aren't enabled
// there show no figures.
func (s *Sim) storageInfo(st *Storage, node string) map[string]any {
	_, off := s.storageOn(node, st.ID)
	out := map[string]any{
		"type": st.Type, "content": st.contentText(), "shared": 0, "enabled": 1, "active": 0, "total": 0, "avail": 0, "used": 0,
	}
	if st.Shared() {
		out["shared"] = 1
	}
	if off != nil {
		out["enabled"] = 0
		return out
	}
	if _, err := s.activate(node, st.ID); err != nil {
		return out
	}
	sp := s.space(st.ID, node)
	out["active"] = 1
	out["total"], out["used"], out["avail"] = sp.Total, sp.Base+sp.Used, sp.Free()
	return out
}

// addFormats says which formats of disks a storage has.
func (s *Sim) addFormats(out map[string]any, st *Storage) {
	if out["enabled"] == 0 {
		return
	}
	formats := st.validFormats()
	valid := map[string]any{}
	for _, f := range formats {
		valid[f] = 1
	}
	out["format"] = []any{valid, formats[0]}
	if s.atLeast(9) {
		out["formats"] = map[string]any{"supported": slices.Sorted(slices.Values(formats)), "default": formats[0]}
	}
	if st.Type == "iscsi" || st.Type == "iscsidirect" {
		out["select_existing"] = 1
	}
}

func listNodeStorages(c *call) (any, error) {
	node := c.node()
	kinds := schema.SplitList(c.params.Str("content"))
	listed := func(st *Storage) bool {
		if !c.params.Has("content") {
			return true
		}
		_, off := c.storageOn(node, st.ID)
		return off == nil && slices.ContainsFunc(kinds, st.HasContent)
	}
	only := c.params.Str("storage")
	if only != "" {
		if st := c.state.Storages[only]; st == nil || !listed(st) {
			return nil, badParam("storage", "No such storage.")
		}
	}
	target := c.nodeName(c.params.Str("target"))
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Storages)) {
		st := c.state.Storages[id]
		switch {
		case !listed(st), only != "" && only != id,
			!c.hasAny(c.who, "/storage/"+id, readable...),
			c.params.Bool("enabled") && st.Conf["disable"] == "1",
			target != "" && target != node && (!st.Shared() || !st.OnNode(node) || !st.OnNode(target)):
			continue
		}
		out := c.storageInfo(st, node)
		out["storage"] = id
		if c.params.Bool("format") {
			c.addFormats(out, st)
		}
		if total, _ := out["total"].(int64); total > 0 {
			out["used_fraction"] = float64(out["used"].(int64)) / float64(total)
		}
		list = append(list, out)
	}
	return list, nil
}

func storageFolders(c *call) (any, error) {
	list := []map[string]any{}
	for _, name := range c.schema.Children("/nodes/{node}/storage/{storage}") {
		list = append(list, map[string]any{"subdir": name})
	}
	return list, nil
}

func storageStatus(c *call) (any, error) {
	st := c.state.Storages[c.params.Str("storage")]
	if st == nil {
		return nil, badParam("storage", "No such storage.")
	}
	return c.storageInfo(st, c.node()), nil
}

func storageIdentity(c *call) (any, error) {
	st, err := c.storageOn(c.node(), c.params.Str("storage"))
	if err != nil {
		return nil, err
	}
	if st.Type != "pbs" {
		return nil, die("get_identity not implemented for this plugin at /usr/share/perl5/PVE/Storage/Plugin.pm line 1.")
	}
	return map[string]any{"type": "pbs", "id": st.Conf["server"] + "/" + st.Conf["datastore"]}, nil
}
