package pvesim

import (
	"maps"
	"slices"
)

// hardwareMapRoutes are the mappings of PCI and USB devices. No host has a USB
// device, so mappings of these are valid as a text only.
func hardwareMapRoutes() map[string]handler {
	routes := map[string]handler{}
	for kind := range hardwareMapKinds {
		all, one := "/cluster/mapping/"+kind, "/cluster/mapping/"+kind+"/{id}"
		routes["GET "+all] = func(c *call) (any, error) { return c.listHardwareMaps(kind) }
		routes["POST "+all] = func(c *call) (any, error) { return nil, c.createHardwareMap(kind) }
		routes["GET "+one] = func(c *call) (any, error) { return c.getHardwareMap(kind) }
		routes["PUT "+one] = func(c *call) (any, error) {
			return nil, failedAs("update hardware mapping failed", c.changeHardwareMap(kind))
		}
		routes["DELETE "+one] = func(c *call) (any, error) {
			delete(c.hardwareMaps(kind), c.params.Str("id"))
			return nil, nil
		}
	}
	return routes
}

// hardwareMapKinds are the options that each kind of mapping has.
var hardwareMapKinds = map[string]sectionKind{
	"pci": {"map": false, "description": true, "mdev": true, "live-migration-capable": true},
	"usb": {"map": false, "description": true},
}

func (s *Sim) hardwareMaps(kind string) map[string]*HardwareMap {
	if s.state.HardwareMaps[kind] == nil {
		s.state.HardwareMaps[kind] = map[string]*HardwareMap{}
	}
	return s.state.HardwareMaps[kind]
}

func (c *call) hardwareMapEntry(kind string, m *HardwareMap) map[string]any {
	out := c.typedSection(m.Options)
	out["type"], out["map"], out["digest"] = kind, m.Map, sectionDigest(c.hardwareMaps(kind))
	return out
}

func (c *call) listHardwareMaps(kind string) (any, error) {
	node, checks := c.params.Str(checkNode), "checks"
	if kind == "usb" {
		checks = "errors"
	}
	list := []map[string]any{}
	for _, id := range sortedKeys(c.hardwareMaps(kind)) {
		if !c.hasAny(c.who, "/mapping/"+kind+"/"+id, "Mapping.Modify", "Mapping.Use", "Mapping.Audit") {
			continue
		}
		m := c.hardwareMaps(kind)[id]
		entry := c.hardwareMapEntry(kind, m)
		entry["id"] = id
		if node != "" {
			entry[checks] = c.checkHardwareMap(kind, id, node)
		}
		list = append(list, entry)
	}
	return list, nil
}

// checkHardwareMap says what is wrong with a mapping on a node.
func (s *Sim) checkHardwareMap(kind, id, node string) []map[string]any {
	entries := s.mappedOn(kind, id, node)
	if len(entries) == 0 {
		return []map[string]any{{"severity": "warning", "message": "No mapping for node " + node + "."}}
	}
	list := []map[string]any{}
	for _, entry := range entries {
		why := missingUSB(entry)
		if kind == "pci" {
			why = s.invalidPCI(id, node, entry)
		}
		if why != "" {
			list = append(list, map[string]any{"severity": "error", "message": "Invalid configuration: " + why + "\n"})
		}
	}
	return list
}

// onNode lists the entries that the mapping has for a node.
func (m *HardwareMap) onNode(node string) (entries []string) {
	for _, entry := range m.Map {
		if n, _ := property(entry, "node", ""); n == node {
			entries = append(entries, entry)
		}
	}
	return entries
}

// missingUSB is what is said of a device that the host doesn't have.
func missingUSB(entry string) string {
	device, _ := property(entry, "path", "")
	if device == "" {
		device, _ = property(entry, "id", "")
	}
	return "usb device '" + device + "' not found"
}

func (c *call) createHardwareMap(kind string) error {
	id, sec := c.params.Str("id"), c.section("id")
	if err := hardwareMapKinds[kind].check(sec, true); err != nil {
		return err
	}
	if c.hardwareMaps(kind)[id] != nil {
		return die("create hardware mapping failed: %s ID '%s' already defined", kind, id)
	}
	delete(sec, "map")
	c.hardwareMaps(kind)[id] = &HardwareMap{Map: c.dirMapParam(), Options: keepSection(sec)}
	return nil
}

func (c *call) getHardwareMap(kind string) (any, error) {
	m := c.hardwareMaps(kind)[c.params.Str("id")]
	if m == nil {
		return nil, die("mapping '%s' not found", c.params.Str("id"))
	}
	return c.hardwareMapEntry(kind, m), nil
}

// changeHardwareMap needs the whole map again, as Proxmox does.
func (c *call) changeHardwareMap(kind string) error {
	if err := c.checkDigest(sectionDigest(c.hardwareMaps(kind))); err != nil {
		return err
	}
	id, sec := c.params.Str("id"), c.section("id")
	m := c.hardwareMaps(kind)[id]
	if m == nil {
		return die("%s ID '%s' does not exist", kind, id)
	}
	if err := hardwareMapKinds[kind].check(sec, true); err != nil {
		return err
	}
	options := maps.Clone(m.Options)
	for _, key := range c.params.List("delete") {
		if err := hardwareMapKinds[kind].remove(options, []string{key}); err != nil {
			return err
		}
		if c.params.Has(key) {
			return die("cannot set and delete property '%s' at the same time!", key)
		}
	}
	delete(sec, "map")
	m.Map, m.Options = slices.Clone(c.dirMapParam()), merged(options, sec)
	return nil
}
