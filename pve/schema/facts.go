package schema

import (
	"maps"
	"slices"
	"strings"
)

// facts are lists that Proxmox has in code and that differ between releases.
type facts struct {
	privileges []string
	cpuModels  []string // what cpu may name
	cpuFlags   []string // what a VM may set, in the order of the error text
	cpuFlagsRE *pattern
	v8         bool // the checks are those of Proxmox VE 8, see [verifier], [PropFormat.parse]
}

const privileges92 = `
	VM.Config.Disk VM.Config.CPU VM.Config.Memory VM.Config.Network VM.Config.HWType VM.Config.Options
	VM.Config.CDROM VM.Config.Cloudinit
	VM.Allocate VM.Clone VM.Migrate VM.Replicate VM.Snapshot VM.Snapshot.Rollback
	VM.Console VM.Backup VM.PowerMgmt VM.Audit
	VM.GuestAgent.Audit VM.GuestAgent.FileRead VM.GuestAgent.FileSystemMgmt VM.GuestAgent.FileWrite
	VM.GuestAgent.Unrestricted
	Sys.PowerMgmt Sys.Modify Sys.Incoming Sys.AccessNetwork Sys.Console Sys.Syslog Sys.Audit
	Datastore.Allocate Datastore.AllocateTemplate Datastore.AllocateSpace Datastore.Audit
	SDN.Allocate SDN.Audit SDN.Use
	Realm.Allocate Realm.AllocateUser User.Modify Group.Allocate
	Pool.Allocate Pool.Audit
	Mapping.Modify Mapping.Use Mapping.Audit
	Permissions.Modify`

// Models that Proxmox adds to QEMU's.
var ownModels = []string{"x86-64-v2", "x86-64-v2-AES", "x86-64-v3", "x86-64-v4"}

// Models and flags that came after 8.4.
var (
	newModels = strings.Fields(`ClearwaterForest EPYC-v5 EPYC-Rome-v5 EPYC-Milan-v3 EPYC-Genoa-v2 EPYC-Turin
		GraniteRapids-v2 GraniteRapids-v3 Icelake-Server-v7 SapphireRapids-v3 SapphireRapids-v4
		SierraForest SierraForest-v2 SierraForest-v3
		a64fx cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a710 cortex-a72 cortex-a76
		neoverse-n1 neoverse-n2 neoverse-v1`)
	flags92 = strings.Fields(`aes amd-no-ssb amd-ssbd hv-evmcs hv-tlbflush ibpb md-clear nested-virt pcid
		pdpe1gb spec-ctrl ssbd virt-ssbd`)
	flags84 = strings.Fields(`pcid spec-ctrl ibpb ssbd virt-ssbd amd-ssbd amd-no-ssb pdpe1gb md-clear
		hv-tlbflush hv-evmcs aes`)
)

func (s *Schema) setFacts() {
	f := &facts{privileges: strings.Fields(privileges92), cpuFlags: flags92}
	if s.Release == "8.4" {
		// 8 has one privilege for monitor and guest agent.
		f.privileges = slices.DeleteFunc(f.privileges, func(p string) bool {
			return strings.HasPrefix(p, "VM.GuestAgent.") || p == "VM.Replicate"
		})
		f.privileges = append(f.privileges, "VM.Monitor")
		f.cpuFlags, f.v8 = flags84, true
	}
	if conf := s.formats["pve-vm-cpu-conf"]; conf != nil {
		f.cpuModels = slices.Concat(conf.Key("reported-model").Enum, ownModels)
	}
	flag := `[+-](` + strings.Join(f.cpuFlags, "|") + `)`
	f.cpuFlagsRE = perlPattern(`^` + flag + `(;` + flag + `)*$`)
	s.facts = f
}

// Privileges lists the privileges that a role may have in this release.
func (s *Schema) Privileges() []string { return slices.Sorted(slices.Values(s.facts.privileges)) }

// formats84 are 9.2's named formats less what came later.
func formats84(newer map[string]formatKeys, ops []*rawEndpoint) map[string]formatKeys {
	older := maps.Clone(newer)
	without := func(name string, keys ...string) {
		older[name] = maps.Clone(newer[name])
		for _, key := range keys {
			delete(older[name], key)
		}
	}
	without("pve-qm-hostpci", "driver")
	without("pve-vm-cpu-conf", "guest-phys-bits", "level")
	model := *older["pve-vm-cpu-conf"]["reported-model"]
	model.Enum = slices.DeleteFunc(slices.Clone(model.Enum), func(name literal) bool {
		return slices.Contains(newModels, string(name))
	})
	older["pve-vm-cpu-conf"]["reported-model"] = &model
	for _, op := range ops {
		// The format of ide0 has a name, but stands here without it.
		if op.Method == "POST" && op.Path == "/nodes/{node}/qemu" {
			if keys := op.Params["ide[n]"].inlineFormat(); keys != nil {
				older["pve-qm-ide"] = keys
			}
		}
	}
	return older
}
