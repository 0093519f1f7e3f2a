package status

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestDifferencesAreSaidInWords(t *testing.T) {
	set := func(field, from, to string, e model.Effect) model.Difference {
		return model.Difference{Verb: model.VerbSet, Field: field, From: from, To: to, Effect: e}
	}
	of := func(v model.Verb, field, from, to string) model.Difference {
		return model.Difference{Verb: v, Field: field, From: from, To: to, Effect: model.EffectLive}
	}
	said := map[model.Verb]bool{}
	for want, list := range map[string][]model.Difference{
		"memory 2048 → 4096 MiB":                         {set("memory", "2048", "4096", model.EffectRestart)},
		"ciuser ann":                                     {set("ciuser", "", "ann", model.EffectLater)},
		"cpu host → default":                             {set("cpu", "host", "", model.EffectLive)},
		"password, SSH keys":                             {set("cipassword", "", "", model.EffectLive), set("sshkeys", "a", "b", model.EffectLive)},
		"description, what the hook does":                {set("description", "a", "b", model.EffectLive), set(model.FieldHook, "", "", model.EffectLive)},
		"8 GiB → 40 GiB":                                 {set("scsi0.size", "8589934592", "42949672960", model.EffectLive)},
		"to 40 GiB":                                      {set("scsi0.size", "", "42949672960", model.EffectNew)},
		"format raw → qcow2":                             {set("scsi0.format", "raw", "qcow2", model.EffectLive)},
		"scsi1 cache none → writeback, discard on":       {set("scsi1.cache", "none", "writeback", model.EffectLive), set("scsi1.discard", "", "on", model.EffectLive)},
		"net0 bridge vmbr0 → vmbr1, VLAN 5, firewall on": {set("net0.bridge", "vmbr0", "vmbr1", model.EffectLive), set("net0.tag", "", "5", model.EffectLive), set("net0.firewall", "off", "on", model.EffectLive)},
		"net0 MTU 1400 → 9000, net1 bridge a → b":        {set("net0.mtu", "1400", "9000", model.EffectLive), set("net1.bridge", "a", "b", model.EffectLive)},
		"tags blue; at the next start cores 2 → 4":       {set("cores", "2", "4", model.EffectRestart), set("tags", "", "blue", model.EffectLive)},
		`policyIn DROP → REJECT, remove the rule "in DROP", add the rule "in ACCEPT SSH"`: {
			set("firewall.policy_in", "DROP", "REJECT", model.EffectLive), of(model.VerbRemove, model.FieldRule, "in DROP", ""), of(model.VerbAdd, model.FieldRule, "", "in ACCEPT SSH"),
		},
		"another order of its rules":                                         {of(model.VerbSet, model.FieldRules, "", "")},
		"maxRestart 1 → 3, HA rule near isn't about it":                      {set("ha.maxRestart", "1", "3", model.EffectLive), of(model.VerbAdd, "ha.rule", "", "near")},
		"localtime is no longer wanted":                                      {of(model.VerbUnset, "localtime", "1", "")},
		"add scsi1 (5 GiB), add net1 on vmbr1 (VLAN 7), add net2 on vmbr0":   {of(model.VerbAdd, "scsi1", "", "5368709120"), of(model.VerbAdd, "net1", "", "vmbr1,tag=7"), of(model.VerbAdd, "net2", "", "vmbr0")},
		"add scsi1 (5 GiB), new and empty: the volume that it had is gone":   {of(model.VerbReplace, "scsi1", "", "5368709120")},
		"attach nfs:1/a to scsi1 again, which was detached":                  {of(model.VerbAttach, "scsi1", "", "nfs:1/a")},
		"insert nfs:iso/a.iso into ide2":                                     {of(model.VerbInsert, "ide2", "none", "nfs:iso/a.iso")},
		"remove scsi1 (5 GiB), remove net1":                                  {of(model.VerbRemove, "scsi1", "5368709120", ""), of(model.VerbRemove, "net1", "", "")},
		"drop the pending cores 2 → 1":                                       {of(model.VerbUndo, "cores", "1", "2")},
		"drop the pending change of net0, drop the pending options of sata1": {of(model.VerbUndo, "net0", "", ""), of(model.VerbUndo, "sata1", "", "")},
		"drop the pending net1, drop the pending removal of scsi2":           {of(model.VerbUndoAdd, "net1", "", ""), of(model.VerbUndoRemove, "scsi2", "", "")},
		"sign proxplane's marker (guest unaffected)":                         {of(model.VerbSign, model.FieldMarker, "", "")},
		"update proxplane's marker (guest unaffected)":                       {of(model.VerbSet, model.FieldMarker, "", "")},
		"other first-boot data, which is all done again":                     {of(model.VerbRerun, model.FieldFirstBoot, "", "")},
		"empty the drive for its first-boot data":                            {of(model.VerbEmpty, model.FieldFirstBoot, "", "")},
		"add a cloud-init drive, detach its first-boot data":                 {of(model.VerbAdd, model.FieldCloudInit, "", ""), of(model.VerbRemove, model.FieldFirstBoot, "", "")},
	} {
		if got := Differences(list); got != want {
			t.Errorf("%v: %q, want %q", list, got, want)
		}
		for _, d := range list {
			said[d.Verb] = true
		}
	}
	for _, v := range model.Verbs {
		if !said[v] {
			t.Errorf("no case has %q", v)
		}
	}
}
