package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func testShare(name, path string, nodes ...string) model.Share {
	return model.Share{Owner: owner("Share", name), Path: path, Nodes: nodes}
}

func sharingVM(name string, shares ...string) model.VM {
	v := testVM(name)
	for i, s := range shares {
		key := "virtiofs" + itoa(i)
		v.Options[key], v.Managed = s, append(v.Managed, key)
	}
	v.Shares = shares
	return v
}

func sharing(shares []model.Share, vms ...model.VM) model.Desired {
	want := desired(vms...)
	want.Shares = shares
	return want
}

// object finds the plan of an object.
func (p Plan) object(t *testing.T, name string) Object {
	t.Helper()
	for _, o := range p.Objects {
		if o.Owner.Name == name {
			return o
		}
	}
	t.Fatalf("no plan for %s:\n%s", name, p)
	return Object{}
}

func TestMappingsAreMadeForAllThatShareThemAndGoWithTheLast(t *testing.T) {
	w := newWorld()
	shares := []model.Share{testShare("data", "/srv/data")}
	want := sharing(shares, sharingVM("a", "data"), sharingVM("b", "data"))
	first := w.plan(want)
	if o := first.object(t, "a"); o.Wait == nil || o.Wait.Reason != model.WaitSource || len(o.Steps) > 0 {
		t.Errorf("a machine is made before what it shares:\n%s", first)
	}
	if p := converge(t, w, want); !p.Ready() {
		t.Fatalf("plan:\n%s", p)
	}
	if d := w.Dirs["data"]; !d.Made || len(d.Paths) != 3 || d.Paths["pve2"] != "/srv/data" {
		t.Errorf("mapping %+v", d)
	}

	// One leaves, by its manifest: the other stays.
	want.VMs[0] = testVM("a")
	converge(t, w, want)
	if _, there := w.Dirs["data"]; !there {
		t.Fatal("the mapping is gone while a machine uses it")
	}
	// So does the last.
	want.VMs[1] = testVM("b")
	want.Shares = nil
	want.Allow.Restart = true
	if p := converge(t, w, want); !p.Ready() || len(w.Dirs) > 0 {
		t.Errorf("mappings %v, plan:\n%s", w.Dirs, p)
	}
}

func TestMappingsGoWhenAllMachinesDo(t *testing.T) {
	for _, how := range []string{"delete", "prune", "names"} {
		w := newWorld()
		shares := []model.Share{testShare("data", "/srv/data")}
		want := sharing(shares, sharingVM("a", "data"), sharingVM("b", "data"))
		converge(t, w, want)
		switch how {
		case "delete":
			want.Shares[0].Deleted, want.VMs[0].Deleted, want.VMs[1].Deleted = true, true, true
		case "prune":
			want = desired()
			want.Prune = true
		case "names":
			for i, v := range want.VMs {
				want.VMs[i] = model.VM{Owner: v.Owner, Range: v.Range, Deleted: true}
			}
			want.Shares = nil
		}
		if p := converge(t, w, want); len(w.Dirs) > 0 || len(w.Guests) != 1 {
			t.Errorf("%s: mappings %v, %d guests, plan:\n%s", how, w.Dirs, len(w.Guests), p)
		}
	}
}

func TestMappingsOfOthersAreLeftAlone(t *testing.T) {
	w := newWorld()
	w.Dirs["data"] = model.Dir{Paths: map[string]string{"pve2": "/srv/data"}}
	want := sharing([]model.Share{testShare("data", "/srv/data")}, sharingVM("a", "data"))
	p := converge(t, w, want)
	if o := p.object(t, "a"); !p.Ready() || o.Node != "pve2" {
		t.Errorf("plan:\n%s", p)
	}
	want.Shares[0].Deleted, want.VMs[0].Deleted = true, true
	if converge(t, w, want); len(w.Dirs) != 1 {
		t.Error("a mapping is removed that isn't ours")
	}
	want = sharing([]model.Share{testShare("data", "/srv/other")}, sharingVM("b", "data"))
	if p := converge(t, w, want); p.object(t, "data").Wait == nil || p.object(t, "data").Wait.Reason != model.WaitForeign || len(w.Guests) != 1 {
		t.Errorf("plan:\n%s", p)
	}
}

func TestMappingsThatSomebodyElseUsesStay(t *testing.T) {
	w := newWorld()
	want := sharing([]model.Share{testShare("data", "/srv/data")}, sharingVM("a", "data"))
	converge(t, w, want)
	w.Guests[777] = &model.Guest{VMID: 777, Name: "by-hand", Node: "pve1", Status: model.StatusRunning, Config: &model.Config{Options: map[string]string{"virtiofs3": "dirid=data,cache=never"}}}
	want.Shares[0].Path = "/srv/other"
	if o := converge(t, w, want).object(t, "data"); o.Wait == nil || !strings.Contains(o.Wait.Text, "VM 777 (by-hand) uses the directory mapping data as it is now") {
		t.Errorf("plan:\n%s", o)
	}
	want = desired()
	want.Prune = true
	if converge(t, w, want); len(w.Dirs) != 1 {
		t.Error("the mapping is gone")
	}
}

func TestMachinesGoWhereTheirDirectoriesAre(t *testing.T) {
	w := newWorld()
	for _, node := range []string{"pve1", "pve3"} {
		w.bad[node+":/srv/data"] = "Path /srv/data does not exist"
	}
	want := sharing([]model.Share{testShare("data", "/srv/data")}, sharingVM("a", "data"))
	if p := converge(t, w, want); !p.Ready() || p.object(t, "a").Node != "pve2" {
		t.Errorf("plan:\n%s", p)
	}
	w.bad["pve2:/srv/data"] = "Path /srv/data does not exist"
	want = sharing(want.Shares, sharingVM("b", "data"))
	o := converge(t, w, want).object(t, "b")
	if o.Wait == nil || !strings.Contains(o.Wait.Text, "pve1, pve2, pve3: the directory /srv/data can't be shared: Path /srv/data does not exist") {
		t.Errorf("plan:\n%s", o)
	}
}

func TestReleasesWithoutMappingsSaySo(t *testing.T) {
	w := newWorld()
	have := w.observe(Look{})
	have.Release, have.Minor = 8, 2
	p := For(sharing([]model.Share{testShare("data", "/srv/data")}, sharingVM("a", "data")), have)
	if o := p.object(t, "data"); o.Wait == nil || o.Wait.Reason != model.WaitRelease || !strings.Contains(o.Wait.Text, "via: hook") {
		t.Errorf("plan:\n%s", p)
	}
	if o := p.object(t, "a"); len(o.Steps) > 0 {
		t.Errorf("plan:\n%s", p)
	}
}
