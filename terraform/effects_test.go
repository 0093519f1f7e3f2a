package terraform_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/golden"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// change is a change of one attribute: what it was before, beside what all machines have, and what it is afterwards.
type change struct {
	path          string
	before, after values
}

// class is that of all machines, but for what is said.
func class(more values) values {
	all := values{"cpus": 1, "memory": "1Gi"}
	maps.Copy(all, more)
	return values{"class": all}
}

func hardware(more values) values { return class(values{"spec": more}) }

func nic(more values) values {
	all := values{"name": "lan"}
	maps.Copy(all, more)
	return values{"networks": []any{all}}
}

func disk(more values) values {
	all := values{"name": "data", "size": "2Gi", "storage": "local"}
	maps.Copy(all, more)
	return values{"disks": []any{all}}
}

func policy(more values) values {
	all := values{"restart": "Allow", "replace": "Allow", "stop": "Allow", "move": "Allow", "remove_disks": "Allow", "scale_down": "Allow"}
	maps.Copy(all, more)
	return values{"update_policy": all}
}

func firewall(more values) values {
	all := values{"enabled": true}
	maps.Copy(all, more)
	return values{"firewall": all}
}

func rule(more values) values {
	all := values{"type": "in", "action": "ACCEPT", "protocol": "tcp", "port": "22"}
	maps.Copy(all, more)
	return firewall(values{"rules": []any{all}})
}

func cloudInit(more values) values { return values{"user_data": values{"cloud_init": more}} }

const ignition = `{"ignition": {"version": "3.4.0"}}`

const otherIgnition = `{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/motd", "contents": {"source": "data:,hello"}}]}}`

// allChanges are the changes that are tried: of each attribute one.
func allChanges() []change {
	none := values{}
	return []change{
		{"class.cpus", none, class(values{"cpus": 2})},
		{"class.memory", none, class(values{"memory": "2Gi"})},
		{"class.cpu.flags", hardware(values{"cpu_type": "host"}), class(values{"spec": values{"cpu_type": "host"}, "cpu": values{"flags": []any{"+aes"}}})},
		{"class.cpu.limit", none, class(values{"cpu": values{"limit": "0.5"}})},
		{"class.cpu.units", none, class(values{"cpu": values{"units": 200}})},
		{"class.extra_config", none, class(values{"extra_config": values{"tablet": "0"}})},
		{"class.hotplug_memory", none, class(values{"hotplug_memory": true})},
		{"class.max_cpus", none, class(values{"max_cpus": 2})},
		{"class.min_memory", none, class(values{"min_memory": "512Mi"})},
		{"class.numa.nodes", none, class(values{"numa": values{"nodes": []any{values{"cpus": "0", "memory": "1Gi"}}}})},
		{"class.sockets", none, class(values{"sockets": 2, "cpus": 2})},
		{"class.spec.bios", none, hardware(values{"bios": "uefi"})},
		{"class.spec.cpu_type", none, hardware(values{"cpu_type": "x86-64-v2-AES"})},
		{"class.spec.machine", none, hardware(values{"machine": "q35"})},
		{"class.spec.scsi_controller", none, hardware(values{"scsi_controller": "virtio-scsi-single"})},
		{"class.spec.secure_boot", hardware(values{"bios": "uefi"}), hardware(values{"bios": "uefi", "secure_boot": true})},
		{"class.spec.serial", none, hardware(values{"serial": true})},
		{"class.spec.tpm", none, hardware(values{"tpm": true})},
		{"class.spec.vga", none, hardware(values{"vga": "virtio"})},
		{"class.storage.class", none, class(values{"storage": values{"class": "local-lvm"}})},
		{"class.storage.type", none, class(values{"storage": values{"type": "thick"}})},
		{"agent.enabled", none, values{"agent": values{"enabled": false}}},
		{"agent.trim_cloned_disks", none, values{"agent": values{"enabled": true, "trim_cloned_disks": true}}},
		{"agent.wait_for_address", none, values{"agent": values{"enabled": true, "wait_for_address": true}}},
		{"deletion_grace_period_seconds", none, values{"deletion_grace_period_seconds": 30}},
		{"deletion_policy", none, values{"deletion_policy": "Retain"}},
		{"description", none, values{"description": "A **machine**"}},
		{"disks.name", none, disk(nil)},
		{"disks.backup", disk(nil), disk(values{"backup": false})},
		{"disks.bus", disk(nil), disk(values{"bus": "virtio"})},
		{"disks.cache", disk(nil), disk(values{"cache": "writeback"})},
		{"disks.discard", disk(nil), disk(values{"discard": true})},
		{"disks.io_thread", disk(nil), disk(values{"io_thread": true})},
		{"disks.size", disk(nil), disk(values{"size": "3Gi"})},
		{"disks.slot", disk(nil), disk(values{"slot": "scsi5"})},
		{"disks.ssd", disk(nil), disk(values{"ssd": true})},
		{"disks.storage", disk(nil), disk(values{"storage": "local-lvm"})},
		{"disks.type", disk(nil), disk(values{"type": "thick"})},
		{"disks (removed)", disk(nil), values{"disks": []any{}}},
		{"extra_config", none, values{"extra_config": values{"tablet": "0"}}},
		{"firewall.enabled", none, firewall(nil)},
		{"firewall.dhcp", firewall(nil), firewall(values{"dhcp": false})},
		{"firewall.ip_filter", firewall(nil), firewall(values{"ip_filter": true})},
		{"firewall.log_in", firewall(nil), firewall(values{"log_in": "info"})},
		{"firewall.log_out", firewall(nil), firewall(values{"log_out": "info"})},
		{"firewall.mac_filter", firewall(nil), firewall(values{"mac_filter": false})},
		{"firewall.ndp", firewall(nil), firewall(values{"ndp": false})},
		{"firewall.policy_in", firewall(nil), firewall(values{"policy_in": "ACCEPT"})},
		{"firewall.policy_out", firewall(nil), firewall(values{"policy_out": "DROP"})},
		{"firewall.router_advertisements", firewall(nil), firewall(values{"router_advertisements": true})},
		{"firewall.rules", firewall(nil), rule(nil)},
		{"firewall.rules.action", rule(nil), rule(values{"action": "DROP"})},
		{"firewall.rules.comment", rule(nil), rule(values{"comment": "SSH"})},
		{"firewall.rules.destination", rule(nil), rule(values{"destination": "10.0.0.0/8"})},
		{"firewall.rules.enabled", rule(nil), rule(values{"enabled": false})},
		{"firewall.rules.log", rule(nil), rule(values{"log": "info"})},
		{"firewall.rules.port", rule(nil), rule(values{"port": "2222"})},
		{"firewall.rules.protocol", rule(nil), rule(values{"protocol": "udp"})},
		{"firewall.rules.source", rule(nil), rule(values{"source": "10.0.0.0/8"})},
		{"firewall.rules.source_port", rule(nil), rule(values{"source_port": "1024:65535"})},
		{"firewall.rules.type", rule(nil), rule(values{"type": "out"})},
		{"guest_name", none, values{"guest_name": "other"}},
		{"ha.max_restart", none, values{"ha": values{"max_restart": 2}}},
		{"ha.max_relocate", values{"ha": values{"max_restart": 2}}, values{"ha": values{"max_restart": 2, "max_relocate": 3}}},
		{"image.source", values{"agent": values{"enabled": false}}, values{"image": values{"source": "other-template"}}},
		{"labels", none, values{"labels": values{"app": "web"}}},
		{"linked_clone", none, values{"linked_clone": false}},
		{"networks.name", none, nic(nil)},
		{"networks.bridge", nic(nil), nic(values{"bridge": "vmbr1"})},
		{"networks.firewall", nic(nil), nic(values{"firewall": true})},
		{"networks.link_down", nic(nil), nic(values{"link_down": true})},
		{"networks.mac", nic(nil), nic(values{"mac": "BC:24:11:00:00:01"})},
		{"networks.model", nic(nil), nic(values{"model": "e1000"})},
		{"networks.mtu", nic(nil), nic(values{"mtu": 1400})},
		{"networks.queues", nic(nil), nic(values{"queues": 2})},
		{"networks.rate", nic(nil), nic(values{"rate": "10"})},
		{"networks.vlan", nic(nil), nic(values{"vlan": 6})},
		{"networks.dhcp", nic(nil), nic(values{"dhcp": true})},
		{"networks.static_ip.address", nic(nil), nic(values{"static_ip": values{"address": "10.9.0.7/24"}})},
		{"networks.static_ip.gateway", nic(values{"static_ip": values{"address": "10.9.0.8/24"}}), nic(values{"static_ip": values{"address": "10.9.0.8/24", "gateway": "10.9.0.1"}})},
		{"networks.static_ip.dns", nic(values{"static_ip": values{"address": "10.9.0.9/24"}}), nic(values{"static_ip": values{"address": "10.9.0.9/24", "dns": []any{"10.9.0.2"}}})},
		{"on_boot", none, values{"on_boot": true}},
		{"placement.node_selector", values{"placement": values{"node_selector": []any{"pve1"}}}, values{"placement": values{"node_selector": []any{"pve2"}}}},
		{"placement.strategy", none, values{"placement": values{"strategy": "spread"}}},
		{"pool", none, values{"pool": "lab"}},
		{"power_state", none, values{"power_state": "Off"}},
		{"protection", none, values{"protection": true}},
		{"startup.order", none, values{"startup": values{"order": 3}}},
		{"startup.up_delay", none, values{"startup": values{"up_delay": 3}}},
		{"startup.down_delay", none, values{"startup": values{"down_delay": 3}}},
		{"tags", none, values{"tags": []any{"front"}}},
		{"update_policy.shutdown_timeout", none, policy(values{"shutdown_timeout": "2m"})},
		{"update_policy.max_unavailable", none, policy(values{"max_unavailable": "1"})},
		{"user_data.cloud_init.inline", cloudInit(values{"inline": "#cloud-config\n"}), cloudInit(values{"inline": "#cloud-config\npackages: [jq]\n"})},
		{"user_data.cloud_init.inline_wo", cloudInit(values{"inline_wo": "#cloud-config\n"}), cloudInit(values{"inline_wo": "#cloud-config\npassword: secret\n"})},
		{"user_data.cloud_init.rerun", cloudInit(values{"inline": "#cloud-config\n"}), cloudInit(values{"inline": "#cloud-config\n", "rerun": true})},
		{"user_data.ignition.inline", values{"user_data": values{"ignition": values{"inline": ignition}}}, values{"user_data": values{"ignition": values{"inline": otherIgnition}}}},
		{"variables", values{"user_data": values{"cloud_init": values{"inline": "#cloud-config\n# ${a}\n"}}, "variables": values{"a": "1"}}, values{"user_data": values{"cloud_init": values{"inline": "#cloud-config\n# ${a}\n"}}, "variables": values{"a": "2"}}},
		{"vmid", none, values{"vmid": 777}},
	}
}

// untried are attributes of which no change is tried here, and why.
var untried = map[string]string{
	"name": "another name is another machine", "replicas": "TestMachinesComeChangeAndGo", "taken_over": "TestMachinesOfOtherProvidersAreMovedHere", "vmids": "TestSeveralMachinesAreImportedAsReplicas", "member_variables": "as variables, with replicas", "timeouts": "says nothing of Proxmox",
	"class.cpu.affinity": "takes root", "class.hugepages": "takes root", "class.keep_hugepages": "takes root", "filesystems": "takes root or a directory mapping: TestExamplesOfTheModule", "hookscripts": "takes root",
	"ha.group": "groups were before Proxmox VE 9", "image": "is another image: image.source", "pci_mappings": "needs devices", "meta_data": "first-boot data, as cloud_init", "user_data.butane": "first-boot data, as ignition", "user_data.delivery": "first-boot data, as ignition",
	"user_data.fw_cfg_name": "takes root", "user_data.ignition.inline_wo": "as that of cloud_init", "placement": "nothing of the machine itself: placement.strategy", "class.numa.nodes": "one of its attributes is tried with all", "update_policy": "says what is allowed",
	"firewall.rules": "each needs others: the ones that stand alone are tried", "networks.slot": "as disks.slot", "networks.dhcp6": "as dhcp", "networks.slaac": "as dhcp", "networks.static_ip": "others are as those that are tried",
}

// Every attribute of a machine is changed once. The table in testdata/effects.txt has what the plan says about each, and what Proxmox
// has then is held against it: nothing restarts or is made anew that the plan didn't name.
func TestEachChangeHasTheEffectThatThePlanTells(t *testing.T) {
	c := start(t)
	rows := make([]string, len(allChanges()))
	var all sync.WaitGroup
	turns := make(chan struct{}, 20)
	for i, ch := range allChanges() {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			rows[i] = c.effect(fmt.Sprintf("m%d", i), ch)
		})
	}
	all.Wait()
	golden.File(t, "testdata/effects.txt", strings.Join(rows, "\n")+"\n")
	c.tried()
}

// effect changes a machine and says what was told.
func (c *client) effect(name string, ch change) string {
	base := values{"name": name, "image": values{"source": "ubuntu-22-template"}}
	maps.Copy(base, class(nil))
	maps.Copy(base, policy(nil))
	before, after := maps.Clone(base), maps.Clone(base)
	maps.Copy(before, ch.before)
	maps.Copy(after, ch.before)
	maps.Copy(after, ch.after)
	row := func(text string) string { return fmt.Sprintf("%-34s %s", ch.path, text) }
	s, said := c.plan(c.none("proxplane_virtual_machine"), before)
	if said.failed {
		return row("can't be made: " + said.text)
	}
	now, said := c.apply(s)
	if said.failed {
		return row("isn't made: " + said.text)
	}
	was := c.life(name)
	s, said = c.plan(now, after)
	if said.failed {
		return row("refused: " + without(said.text, name))
	}
	told := effectsIn(said.text)
	if cause := causeIn.FindStringSubmatch(said.text); cause != nil {
		told += ", by " + cause[1]
		if !strings.Contains(ch.path, index.ReplaceAllString(cause[1], "")) && !strings.Contains(cause[1], ch.path) {
			c.Errorf("%s: the plan says that it is caused by %s", ch.path, cause[1])
		}
	} else if told != "live" && !strings.Contains(told, " stay") {
		c.Errorf("%s: the plan doesn't say by which attribute: %s", ch.path, said.text)
	}
	if now, said = c.apply(s); said.failed {
		return row(told + ", and fails: " + without(said.text, name))
	}
	is := c.life(name)
	if ch.path == "guest_name" {
		is = c.life("other")
	}
	switch {
	case is.made != was.made && !strings.Contains(told, "made anew"):
		c.Errorf("%s: the machine is another one, and the plan said %q", ch.path, told)
	case is.made == was.made && strings.Contains(told, "made anew"):
		c.Errorf("%s: the machine is the same, and the plan said %q", ch.path, told)
	case is.started != was.started && !strings.Contains(told, "restarted") && !strings.Contains(told, "made anew") && !strings.Contains(told, "powered off") && !strings.Contains(told, "another node"):
		c.Errorf("%s: the machine was restarted, and the plan said %q", ch.path, told)
	case is.started == was.started && strings.Contains(told, "restarted"):
		c.Errorf("%s: the machine wasn't restarted, and the plan said %q", ch.path, told)
	}
	if now, said = c.read(now); said.failed {
		return row(told + ", and can't be read: " + without(said.text, name))
	}
	if s, said = c.plan(now, after); said.failed || c.changes(s) {
		c.Errorf("%s: a second plan isn't empty: %s", ch.path, said)
	}
	return row(told)
}

// causeIn is the attribute that a warning names, index the number of an item in it.
var (
	causeIn = regexp.MustCompile(`Caused by (.*)\.`)
	index   = regexp.MustCompile(`\[\d+\]`)
)

// life is by what a machine is known to be the same, and to have run on.
type life struct{ made, started string }

func (c *client) life(name string) (l life) {
	c.sim.Do(func(st *pvesim.State) {
		vm := sim.VM(st, name)
		if vm == nil {
			return
		}
		l.made = fmt.Sprint(vm.ID, vm.Conf["vmgenid"], vm.Conf["meta"], vm.Conf["smbios1"])
		if vm.Run != nil {
			l.started = fmt.Sprint(vm.Run.Started)
		}
	})
	return l
}

// effectsIn are the effects that warnings name.
func effectsIn(text string) string {
	var list []string
	for _, effect := range []string{"loses data", "is destroyed and made anew", "is restarted", "is powered off", "goes to another node", "takes over some changes at its next start only", "takes over a change at its next start only", "for the next first boot", "a disk stays on its bus", "its disks stay what they are"} {
		if strings.Contains(text, effect) {
			list = append(list, effect)
		}
	}
	if len(list) == 0 {
		return "live"
	}
	return strings.Join(list, ", ")
}

// without is a text without the name of a machine.
func without(text, name string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, name, "NAME")), " ")
}

// tried: a change of each attribute is in the table, or it is said why not.
func (c *client) tried() {
	c.Helper()
	known := map[string]bool{}
	for _, ch := range allChanges() {
		known[ch.path] = true
	}
	for _, path := range leaves("", c.types["proxplane_virtual_machine"]) {
		ok := known[path] || slices.Contains([]string{"id", "drift"}, path) || strings.HasPrefix(path, "machines.")
		for why := path; !ok && why != ""; {
			_, ok = untried[why]
			why = why[:max(0, strings.LastIndex(why, "."))]
		}
		if !ok {
			c.Errorf("no change of %s is tried", path)
		}
	}
}

// leaves are the attributes that are no objects.
func leaves(prefix string, kind tftypes.Type) (list []string) {
	switch of := kind.(type) {
	case tftypes.Object:
		for _, name := range slices.Sorted(maps.Keys(of.AttributeTypes)) {
			list = append(list, leaves(strings.TrimPrefix(prefix+"."+name, "."), of.AttributeTypes[name])...)
		}
		return list
	case tftypes.List:
		if _, objects := of.ElementType.(tftypes.Object); objects {
			return leaves(prefix, of.ElementType)
		}
	}
	return []string{prefix}
}
