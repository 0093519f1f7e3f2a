package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/export"
)

// tofuResource is the resource of bpg/proxmox that is a VM.
const tofuResource = "proxmox_virtual_environment_vm"

// Tofu returns the machines of a cluster in the language of Terraform and OpenTofu, for the provider
// bpg/proxmox, with the blocks that import them: the first apply takes them over as they are.
func (c *Cluster) Tofu(ctx context.Context) (string, error) {
	have, err := c.examine(ctx)
	if err != nil {
		return "", err
	}
	f := hclwrite.NewEmptyFile()
	providers := f.Body().AppendNewBlock("terraform", nil).Body()
	providers.SetAttributeValue("required_version", cty.StringVal(">= 1.5"))
	providers.AppendNewBlock("required_providers", nil).Body().SetAttributeValue("proxmox", cty.ObjectVal(map[string]cty.Value{
		"source": cty.StringVal("bpg/proxmox"), "version": cty.StringVal(">= 0.75"),
	}))
	f.Body().AppendNewline()
	f.Body().AppendNewBlock("provider", []string{"proxmox"})
	for _, m := range c.Members {
		g := have.Guests[m.Guest.VMID]
		f.Body().AppendNewline()
		imports := f.Body().AppendNewBlock("import", nil).Body()
		imports.SetAttributeTraversal("to", hcl.Traversal{hcl.TraverseRoot{Name: tofuResource}, hcl.TraverseAttr{Name: m.Name}})
		imports.SetAttributeValue("id", cty.StringVal(fmt.Sprintf("%s/%d", g.Node, g.VMID)))
		f.Body().AppendNewline()
		tofuVM(f.Body().AppendNewBlock("resource", []string{tofuResource, m.Name}).Body(), g)
	}
	head := fmt.Sprintf(`# The machines of cluster %s for OpenTofu or Terraform with the provider bpg/proxmox, which reads
# PROXMOX_VE_ENDPOINT and PROXMOX_VE_API_TOKEN. These commands hand them over; the machines run on,
# and "proxplane cluster" no longer knows them:
#   proxplane release %s
#   tofu init
#   tofu apply
# Nothing here makes a node of a machine: one that is made anew joins the cluster by hand.

`, c.Name, strings.Join(names(c.Members), " "))
	return head + string(hclwrite.Format(f.Bytes())), nil
}

// tofuVM writes one machine.
func tofuVM(to *hclwrite.Body, g *model.Guest) {
	o := g.Config.Options
	to.SetAttributeValue("name", cty.StringVal(g.Name))
	to.SetAttributeValue("node_name", cty.StringVal(g.Node))
	to.SetAttributeValue("vm_id", cty.NumberIntVal(int64(g.VMID)))
	to.SetAttributeValue("started", cty.BoolVal(g.Status == model.StatusRunning))
	to.SetAttributeValue("on_boot", cty.BoolVal(o["onboot"] == "1"))
	to.SetAttributeValue("reboot_after_update", cty.False)
	if g.Pool != "" {
		to.SetAttributeValue("pool_id", cty.StringVal(g.Pool))
	}
	if hw := o["scsihw"]; hw != "" {
		to.SetAttributeValue("scsi_hardware", cty.StringVal(hw))
	}
	if tags := export.VisibleTags(g.Config.Tags); len(tags) > 0 {
		slices.Sort(tags)
		to.SetAttributeValue("tags", texts(tags))
	}
	if model.AgentOn(o) {
		block(to, "agent", map[string]cty.Value{"enabled": cty.True})
	}
	cpu := map[string]cty.Value{"cores": number(o["cores"], 1), "sockets": number(o["sockets"], 1)}
	if kind := strings.TrimPrefix(o["cpu"], "cputype="); kind != "" {
		cpu["type"] = cty.StringVal(kind)
	}
	block(to, "cpu", cpu)
	block(to, "memory", map[string]cty.Value{"dedicated": number(o["memory"], 512)})
	block(to, "operating_system", map[string]cty.Value{"type": cty.StringVal(o["ostype"])})
	for _, d := range g.Config.Disks {
		if !d.CDROM {
			block(to, "disk", tofuDisk(d))
		}
	}
	for _, n := range g.Config.NICs {
		nic := map[string]cty.Value{"bridge": cty.StringVal(n.Bridge), "mac_address": cty.StringVal(n.MAC), "model": cty.StringVal(n.Model), "firewall": cty.BoolVal(n.Firewall)}
		if n.VLAN != 0 {
			nic["vlan_id"] = cty.NumberIntVal(int64(n.VLAN))
		}
		if n.MTU != 0 {
			nic["mtu"] = cty.NumberIntVal(int64(n.MTU))
		}
		block(to, "network_device", nic)
	}
	for i := range 4 {
		if device := o[fmt.Sprintf("serial%d", i)]; device != "" {
			block(to, "serial_device", map[string]cty.Value{"device": cty.StringVal(device)})
		}
	}
	if o["vga"] != "" {
		block(to, "vga", map[string]cty.Value{"type": cty.StringVal(strings.TrimPrefix(o["vga"], "type="))})
	}
	var ignored []hclwrite.Tokens
	for _, name := range tofuIgnored {
		ignored = append(ignored, hclwrite.TokensForIdentifier(name))
	}
	to.AppendNewBlock("lifecycle", nil).Body().SetAttributeRaw("ignore_changes", hclwrite.TokensForTuple(ignored))
}

// tofuIgnored are what the provider doesn't read as it is when it imports a machine: it takes the
// drive with the first-boot data for a disk, and would write defaults of its own for the agent and
// the keyboard. The notes have the record of the cluster.
var tofuIgnored = []string{"agent", "cdrom", "description", "disk", "keyboard_layout"}

// tofuDisk writes a disk.
func tofuDisk(d model.Disk) map[string]cty.Value {
	disk := map[string]cty.Value{
		"datastore_id": cty.StringVal(d.Storage), "interface": cty.StringVal(d.Slot), "size": cty.NumberIntVal(d.Size >> 30),
		"discard": cty.StringVal("ignore"), "iothread": cty.BoolVal(d.Options["iothread"] == "1"), "ssd": cty.BoolVal(d.Options["ssd"] == "1"),
	}
	if d.Options["discard"] == "on" {
		disk["discard"] = cty.StringVal("on")
	}
	if cache := d.Options["cache"]; cache != "" {
		disk["cache"] = cty.StringVal(cache)
	}
	if d.Format != "" {
		disk["file_format"] = cty.StringVal(d.Format)
	}
	return disk
}

// block writes a block with its attributes in the order of their names.
func block(to *hclwrite.Body, name string, values map[string]cty.Value) {
	body := to.AppendNewBlock(name, nil).Body()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		body.SetAttributeValue(key, values[key])
	}
}

func texts(list []string) cty.Value {
	var all []cty.Value
	for _, text := range list {
		all = append(all, cty.StringVal(text))
	}
	return cty.TupleVal(all)
}

// number is an option that is a number, or its default.
func number(text string, otherwise int64) cty.Value {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = otherwise
	}
	return cty.NumberIntVal(n)
}
