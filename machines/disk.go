package machines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// wrongDisk says that diskName isn't the disk that the template boots from, which is the one that grows; empty: it is, or
// the template isn't known yet.
func (t *turn) wrongDisk(ctx context.Context) string {
	p := t.value.CloudProviderSpec
	if p.DiskName == "" || t.record.VMID != 0 {
		return ""
	}
	vmid := 0
	_ = t.berth.site.View(ctx, func(have *model.Observed) { // what can't be read isn't known
		for _, g := range have.Guests {
			if g.Template && (g.VMID == p.VMTemplateID || p.Template != "" && g.Name == p.Template) && (vmid == 0 || g.VMID < vmid) {
				vmid = g.VMID
			}
		}
	})
	if vmid == 0 {
		return ""
	}
	g, err := t.berth.site.Observer().Known(ctx, vmid)
	if err != nil || g == nil || g.Config == nil {
		return ""
	}
	if boots := bootDisk(g.Config); boots != "" && boots != p.DiskName {
		return fmt.Sprintf("providerSpec.value.cloudProviderSpec.diskName: template %d boots from %s, not from %s, and diskSizeGB is for the disk that it boots from: name that one, or leave diskName out", vmid, boots, p.DiskName)
	}
	return ""
}

// bootDisk is the slot of the disk that a guest boots from; empty: none.
func bootDisk(c *model.Config) string {
	disks := slices.DeleteFunc(slices.Clone(c.Disks), func(d model.Disk) bool { return d.CDROM })
	if order, ok := strings.CutPrefix(c.Options["boot"], "order="); ok {
		for slot := range strings.SplitSeq(order, ";") {
			if slices.ContainsFunc(disks, func(d model.Disk) bool { return d.Slot == slot }) {
				return slot
			}
		}
	}
	if len(disks) == 1 {
		return disks[0].Slot
	}
	return ""
}
