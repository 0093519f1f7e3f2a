package inspect

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/status"
)

// references are the rows as other commands take them: vm/web-1, snapshot/web-1/before.
// Machines whose name is another one's, too, go by their VMID.
func (l *listing) references() []string {
	names := map[string]int{}
	for _, v := range l.values {
		if vm, ok := v.(status.VM); ok {
			names[vm.Name]++
		}
	}
	list := make([]string, 0, len(l.values))
	for i, value := range l.values {
		ref := l.names[i]
		switch v := value.(type) {
		case status.VM:
			ref = "vm/" + v.Name
			if v.VMID != 0 && (v.Name == "" || names[v.Name] > 1) {
				ref = "vm/" + strconv.Itoa(v.VMID)
			}
		case status.Image:
			ref = "image/" + v.Name
		case status.Snapshot:
			ref = "snapshot/" + v.VM + "/" + v.Name
		case status.Node:
			ref = "node/" + v.Name
		case status.Storage:
			ref = "storage/" + v.Name
		case status.Task:
			ref = v.UPID
		}
		list = append(list, ref)
	}
	return list
}

// selected keeps the machines that -l asks for: by the labels of their manifests, or
// by their tags where there are no manifests.
func (g *Get) selected(l listing) (listing, error) {
	sel, err := g.Parse()
	if err != nil || sel == nil {
		return l, err
	}
	switch l.kind {
	case "snapshots": // they are listed of those machines alone
		return l, nil
	case "vms":
	default:
		return l, fmt.Errorf("-l is for machines: %s have no labels", l.kind)
	}
	byObject := map[string]labels.Set{}
	for _, v := range g.c.Desired.VMs {
		byObject[status.Name(v.Owner.Key)] = v.Labels
	}
	out := listing{kind: l.kind, table: status.Table{Columns: l.table.Columns}}
	for i, value := range l.values {
		vm, ok := value.(status.VM)
		if !ok {
			continue
		}
		set := target.TagSet(vm.Tags)
		if len(byObject) > 0 {
			set = byObject[vm.Object]
		}
		if sel.Matches(set) {
			out.addNamed(l.keys[i], l.names[i], value)
			out.table.Rows = append(out.table.Rows, l.table.Rows[i])
		}
	}
	return out, nil
}
