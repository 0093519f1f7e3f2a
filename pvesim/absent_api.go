package pvesim

import (
	"strconv"
	"strings"
)

// absentRoutes are calls about things that nobody can make here, or only
// what Proxmox itself makes: lists are empty, and what is asked for by name
// isn't there.
func absentRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/acme/account":                 emptyList,
		"GET /cluster/acme/account/{name}":          absentField("name", "ACME account config file '%s' does not exist."),
		"GET /cluster/jobs/realm-sync":              emptyList,
		"GET /cluster/jobs/realm-sync/{id}":         absentField("id", "No such job '%s'"),
		"GET /cluster/log":                          emptyList,
		"GET /cluster/replication":                  emptyList,
		"GET /cluster/replication/{id}":             absent("id", "no such replication job '%s'"),
		"PUT /cluster/replication/{id}":             changeReplication,
		"DELETE /cluster/replication/{id}":          changeReplication,
		"GET /nodes/{node}/replication":             emptyList,
		"GET /nodes/{node}/replication/{id}/status": absent("id", "no such replication job '%s'"),
		"GET /nodes/{node}/replication/{id}/log":    absent("id", "no such replication job '%s'"),
		"GET /cluster/sdn/controllers":              emptyList,
		"GET /cluster/sdn/controllers/{controller}": absent("controller", "sdn '%s' does not exist"),
		"GET /cluster/sdn/dns":                      emptyList,
		"GET /cluster/sdn/dns/{dns}":                absent("dns", "sdn '%s' does not exist"),
		"GET /cluster/sdn/ipams":                    listIPAMs,
		"GET /cluster/sdn/ipams/{ipam}":             getIPAM,
		"GET /cluster/sdn/vnets":                    emptyList,
		"GET /cluster/sdn/vnets/{vnet}":             absent("vnet", "sdn vnet '%s' does not exist"),
		"GET /cluster/sdn/zones":                    emptyList,
		"GET /cluster/sdn/zones/{zone}":             absent("zone", "sdn '%s' does not exist"),
		"GET /nodes/{node}/sdn/zones":               emptyList,
	}
}

func emptyList(*call) (any, error) { return []any{}, nil }

// absent says that what a parameter names isn't there.
func absent(param, text string) handler {
	return func(c *call) (any, error) { return nil, die(text, c.params.Str(param)) }
}

// absentField says so as an error of the parameter.
func absentField(param, text string) handler {
	return func(c *call) (any, error) { return nil, badParam(param, text, c.params.Str(param)) }
}

// changeReplication: jobs are named by their guest, "100-0". Until 8 the
// right to change them was one on storages, which the schema states.
func changeReplication(c *call) (any, error) {
	id := c.params.Str("id")
	guest, _, _ := strings.Cut(id, "-")
	vmid, _ := strconv.Atoi(guest)
	if c.atLeast(9) {
		if err := c.need(c.who, vmPath(vmid), "VM.Replicate"); err != nil {
			return nil, err
		}
	}
	if c.ep.Method == "DELETE" && c.params.Bool("force") {
		if c.params.Bool("keep") {
			return nil, badParam("keep", "conflicts with parameter 'force'")
		}
		return nil, nil
	}
	return nil, die("no such job '%s'", id)
}

// ownIPAM is the one that Proxmox always has.
var ownIPAM = map[string]any{"ipam": "pve", "type": "pve", "digest": emptyDigest}

func listIPAMs(c *call) (any, error) {
	kind := c.params.Str("type")
	if kind != "" && kind != "pve" || !c.hasAny(c.who, "/sdn/ipams/pve", "SDN.Audit", "SDN.Allocate") {
		return []any{}, nil
	}
	return []any{ownIPAM}, nil
}

func getIPAM(c *call) (any, error) {
	if c.params.Str("ipam") != "pve" {
		return absent("ipam", "sdn '%s' does not exist")(c)
	}
	return ownIPAM, nil
}
