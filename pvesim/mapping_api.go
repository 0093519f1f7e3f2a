package pvesim

import (
	"maps"
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
		"GET /cluster/mapping/pci":         emptyList,
		"GET /cluster/mapping/usb":         emptyList,
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
	node := c.params.Str("check-node")
	if node != "" && c.nodeName(node) != c.entry {
		return nil, die("wrong node to check - %s != %s", node, c.entry)
	}
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.DirMaps)) {
		path := "/mapping/dir/" + id
		if !c.has(c.who, path, "Mapping.Modify") && !c.has(c.who, path, "Mapping.Use") && !c.has(c.who, path, "Mapping.Audit") {
			continue
		}
		m := c.dirMapEntry(c.state.DirMaps[id])
		m["id"] = id
		if node != "" {
			m["checks"] = c.dirMapChecks(c.state.DirMaps[id], c.entry)
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
		if !c.state.Dirs[dir] {
			checks = append(checks, map[string]any{"severity": "error", "message": "Invalid configuration: Path " + dir + " does not exist\n"})
		}
	}
	return checks
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

// checkDirMap refuses directories that aren't on the node that is asked, and
// two entries for one node.
func (c *call) checkDirMap(entries []string) error {
	if len(entries) == 0 {
		return die("missing value for required option 'map'")
	}
	count := map[string]int{}
	for _, entry := range entries {
		node, path := dirMapEntryParts(entry)
		if node == c.entry && !c.state.Dirs[path] {
			return die("Path %s does not exist", path)
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
	if err := c.checkDirMap(entries); err != nil {
		return nil, err
	}
	if c.state.DirMaps[id] != nil {
		return nil, die("create directory mapping failed: dir ID '%s' already defined", id)
	}
	c.state.DirMaps[id] = &DirMap{ID: id, Desc: c.params.Str("description"), Map: entries}
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
	const doing = "update directory mapping failed: "
	id := c.params.Str("id")
	if err := c.checkDigest(sectionDigest(c.state.DirMaps)); err != nil {
		return nil, die("%s%v", doing, err)
	}
	m := c.state.DirMaps[id]
	if m == nil {
		return nil, die("%sdir ID '%s' does not exist", doing, id)
	}
	entries := c.dirMapParam()
	if err := c.checkDirMap(entries); err != nil {
		return nil, die("%s%v", doing, err)
	}
	m.Map = entries
	if c.params.Has("description") {
		m.Desc = c.params.Str("description")
	}
	if slices.Contains(c.params.List("delete"), "description") {
		m.Desc = ""
	}
	return nil, nil
}

// deleteDirMap doesn't mind whether the mapping is there or in use.
func deleteDirMap(c *call) (any, error) {
	delete(c.state.DirMaps, c.params.Str("id"))
	return nil, nil
}
