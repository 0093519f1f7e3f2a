package pvesim

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// mappingRoutes are the directory mappings.
func mappingRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/mapping/dir":         listDirMaps,
		"POST /cluster/mapping/dir":        createDirMap,
		"GET /cluster/mapping/dir/{id}":    getDirMap,
		"PUT /cluster/mapping/dir/{id}":    updateDirMap,
		"DELETE /cluster/mapping/dir/{id}": deleteDirMap,
	}
}

func (c *call) dirMapEntry(m *DirMap) map[string]any {
	out := map[string]any{"type": "dir", "map": m.Map, "digest": sectionDigest(c.state.DirMaps)}
	if m.Desc != "" {
		out["description"] = m.Desc
	}
	return out
}

func listDirMaps(c *call) (any, error) {
	node := c.params.Str(checkNode)
	list := []map[string]any{}
	for _, id := range sortedKeys(c.state.DirMaps) {
		if !c.hasAny(c.who, "/mapping/dir/"+id, "Mapping.Modify", "Mapping.Use", "Mapping.Audit") {
			continue
		}
		m := c.dirMapEntry(c.state.DirMaps[id])
		m["id"] = id
		if node != "" {
			m["checks"] = c.dirMapChecks(c.state.DirMaps[id], node)
		}
		list = append(list, m)
	}
	return list, nil
}

// dirMapChecks says what is wrong with a mapping on a node.
func (c *call) dirMapChecks(m *DirMap, node string) []map[string]any {
	checks := []map[string]any{}
	dirs := m.onNode(node)
	if len(dirs) == 0 {
		checks = append(checks, map[string]any{"severity": "warning", "message": "No mapping for node " + node + "."})
	}
	for _, dir := range dirs {
		if err := c.checkHostDir(dir); err != nil {
			checks = append(checks, map[string]any{"severity": "error", "message": "Invalid configuration: " + perlText(err)})
		}
	}
	return checks
}

var mapPath = regexp.MustCompile(`^/[^;,=()]+`)

// checkHostDir refuses what can't be shared with guests.
func (s *Sim) checkHostDir(dir string) error {
	switch {
	case !mapPath.MatchString(dir):
		return die("Value does not look like a valid absolute path. These symbols are currently not allowed in path: ;,=()")
	case !s.canShare(dir):
		return die("Path %s does not exist", dir)
	}
	return nil
}

// onNode lists the directories that the mapping names for a node.
func (m *DirMap) onNode(node string) []string {
	var dirs []string
	for _, entry := range m.Map {
		n, path := dirMapEntryParts(entry)
		if n == node {
			dirs = append(dirs, path)
		}
	}
	return dirs
}

func dirMapEntryParts(entry string) (node, path string) {
	for _, part := range strings.Split(entry, ",") {
		switch k, v, _ := strings.Cut(part, "="); k {
		case "node":
			node = v
		case "path":
			path = v
		}
	}
	return node, path
}

var dirMapOptions = sectionKind{"map": false, "description": true}

// checkDirMap refuses directories that aren't on the node that is asked, and
// two entries for one node.
func (c *call) checkDirMap(entries []string) error {
	count := map[string]int{}
	for _, entry := range entries {
		node, path := dirMapEntryParts(entry)
		if err := c.checkHostDir(path); err != nil && node == c.entry {
			return err
		}
		count[node]++
	}
	for _, node := range slices.Sorted(maps.Keys(count)) {
		if count[node] > 1 {
			return die("Node '%s' is specified %d times.", node, count[node])
		}
	}
	return nil
}

func createDirMap(c *call) (any, error) {
	id, entries := c.params.Str("id"), c.dirMapParam()
	if err := dirMapOptions.check(c.section("id"), true); err != nil {
		return nil, err
	}
	if err := c.checkDirMap(entries); err != nil {
		return nil, err
	}
	if c.state.DirMaps[id] != nil {
		return nil, die("create directory mapping failed: dir ID '%s' already defined", id)
	}
	c.state.DirMaps[id] = &DirMap{ID: id, Desc: strings.TrimSpace(c.params.Str("description")), Map: entries}
	return nil, nil
}

func (c *call) dirMapParam() []string {
	if list, ok := c.params["map"].([]string); ok {
		return list
	}
	if c.params.Has("map") {
		return []string{c.params.Str("map")}
	}
	return nil
}

func getDirMap(c *call) (any, error) {
	m := c.state.DirMaps[c.params.Str("id")]
	if m == nil {
		return nil, die("mapping '%s' not found", c.params.Str("id"))
	}
	return c.dirMapEntry(m), nil
}

// updateDirMap needs the whole map again, as Proxmox does.
func updateDirMap(c *call) (any, error) {
	return nil, failedAs("update directory mapping failed", c.changeDirMap(c.params.Str("id")))
}

func (c *call) changeDirMap(id string) error {
	if err := c.checkDigest(sectionDigest(c.state.DirMaps)); err != nil {
		return err
	}
	m := c.state.DirMaps[id]
	if m == nil {
		return die("dir ID '%s' does not exist", id)
	}
	if err := dirMapOptions.check(c.section("id"), true); err != nil {
		return err
	}
	entries := c.dirMapParam()
	if err := c.checkDirMap(entries); err != nil {
		return err
	}
	desc := map[string]string{}
	if m.Desc != "" {
		desc["description"] = m.Desc
	}
	for _, key := range c.params.List("delete") {
		if err := dirMapOptions.remove(desc, []string{key}); err != nil {
			return err
		}
		if c.params.Has(key) {
			return die("cannot set and delete property '%s' at the same time!", key)
		}
	}
	m.Map, m.Desc = entries, desc["description"]
	if c.params.Has("description") {
		m.Desc = strings.TrimSpace(c.params.Str("description"))
	}
	return nil
}

// deleteDirMap doesn't mind whether the mapping is there or in use.
func deleteDirMap(c *call) (any, error) {
	delete(c.state.DirMaps, c.params.Str("id"))
	return nil, nil
}
