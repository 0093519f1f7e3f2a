package privileges

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
)

// Many machines that are alike need what two of them do, and all of them are named where root has to set something.
func TestManyAlikeNeedWhatTwoDo(t *testing.T) {
	set := func(n int) model.Desired {
		want := richSet()
		for i := range n {
			v := want.VMs[3]
			v.Name = fmt.Sprintf("more-%d", i)
			v.Owner.Name, v.Options = v.Name, map[string]string{"cores": "2", "args": "-s", "ipconfig0": fmt.Sprintf("ip=10.0.0.%d/24", i+1)}
			want.VMs = append(want.VMs, v)
		}
		return want
	}
	needs := func(n int) Needs {
		all, err := For(set(n), Facts{Release: 9, Have: richWorld()})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	two, many := needs(2), needs(40)
	if diff := cmp.Diff(two.Grants, many.Grants); diff != "" {
		t.Error(diff)
	}
	if len(many.Root) != 40 {
		t.Errorf("root has to set %d options", len(many.Root))
	}
	// The same holds for those with VMIDs of their own, each on its path.
	own := func(n int) Needs {
		want := set(n)
		for i := range n {
			want.VMs[len(want.VMs)-n+i].VMID = 3000 + i
		}
		all, err := For(want, Facts{Release: 9, Have: richWorld()})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	perPath := map[string][]Priv{}
	for _, g := range own(40).Grants {
		perPath[g.Path] = g.Privs
	}
	for i := range 40 {
		if len(perPath[vmPath(3000+i)]) < 5 {
			t.Errorf("VM %d needs %v", 3000+i, perPath[vmPath(3000+i)])
		}
		if diff := cmp.Diff(perPath["/vms/3001"], perPath[vmPath(3000+i)]); diff != "" {
			t.Errorf("VM %d: %s", 3000+i, diff)
		}
	}
	l := life{want: set(40), at: Facts{Release: 9, Have: richWorld()}}
	if l.distinct(); len(l.want.VMs) != len(set(2).VMs) {
		t.Errorf("%d machines are planned", len(l.want.VMs))
	}
}
