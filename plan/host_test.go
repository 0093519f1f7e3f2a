package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

const testHook = "local:snippets/proxplane-hook"

func hookedVM(name string) model.VM {
	v := testVM(name)
	v.Own = map[string]model.Text{"args": {{Fixed: "-fw_cfg name=x,file=/run/"}, {Own: model.OwnVMID}, {Fixed: ".ign"}}}
	v.Options["hookscript"] = testHook
	v.Managed = append(v.Managed, "args", "hookscript")
	v.Scripts, v.RootFor = []string{testHook}, []string{"userData.delivery"}
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Once: true, Apart: true}
	v.Hook = model.Text{{Fixed: "```\ncloud-init: nfs:iso/"}, {Own: model.OwnSeed}, {Fixed: ".iso\n```"}}
	return v
}

func (w *world) snippet(volume string, nodes ...string) {
	w.Snippets[volume] = model.File{Volume: volume, Node: nodes[0], Also: nodes[1:], Content: "snippets"}
}

func TestWhatOnlyRootMaySetIsToldBeforeAnythingIsDone(t *testing.T) {
	w := newWorld()
	w.Storages["local"] = &model.Storage{Name: "local", Type: "dir", Content: map[string]bool{"snippets": true}}
	w.snippet(testHook, "pve1", "pve2", "pve3")
	v := hookedVM("web")
	p := converge(t, w, desired(v))
	if o := p.object(t, "web"); o.Wait == nil || o.Wait.Reason != model.WaitRoot || len(w.Guests) != 1 ||
		!strings.HasPrefix(o.Wait.Text, "only root@pam, logged in with its password, may set args and hookscript, for userData.delivery;") {
		t.Fatalf("plan:\n%s", p)
	}
	// A template that has the same is enough.
	w.Guests[9000].Config.Options["hookscript"] = testHook
	if o := converge(t, w, desired(v)).object(t, "web"); o.Wait == nil || !strings.Contains(o.Wait.Text, "may set args,") {
		t.Errorf("plan:\n%s", o)
	}
	w.Root = true
	p = converge(t, w, desired(v))
	if !p.Ready() {
		t.Fatalf("plan:\n%s", p)
	}
	id := p.object(t, "web").VMID
	c := w.Guests[id].Config
	if c.Options["args"] != "-fw_cfg name=x,file=/run/"+itoa(id)+".ign" || !strings.Contains(c.Text, v.Seed.Volume(id)) {
		t.Errorf("args %q, text %q", c.Options["args"], c.Text)
	}
	for _, d := range c.Disks {
		if d.CDROM {
			t.Errorf("the hook takes it, and it is in a drive too: %+v", d)
		}
	}
	if _, there := w.Files[v.Seed.Volume(id)]; !there {
		t.Errorf("files %v", w.Files)
	}
	// Once it is so, anybody may look after it.
	w.Root = false
	v.Tags = []string{"blue"}
	if p := converge(t, w, desired(v)); !p.Ready() {
		t.Errorf("plan:\n%s", p)
	}
	v.Deleted = true
	if converge(t, w, desired(v)); len(w.Files) > 0 || len(w.Guests) != 1 {
		t.Errorf("left behind: %v, %d guests", w.Files, len(w.Guests))
	}
}

func TestMachinesGoWhereTheirHookIs(t *testing.T) {
	w := newWorld()
	w.Root = true
	w.Storages["local"] = &model.Storage{Name: "local", Type: "dir", Content: map[string]bool{"snippets": true}}
	v := hookedVM("web")
	o := converge(t, w, desired(v)).object(t, "web")
	if o.Wait == nil || len(w.Guests) != 1 || !strings.Contains(o.Wait.Text, "pve1, pve2, pve3: "+testHook+" isn't there") || o.Wait.Do.Do != model.InstallHook {
		t.Fatalf("plan:\n%s", o)
	}
	w.snippet(testHook, "pve3")
	p := converge(t, w, desired(v))
	if o := p.object(t, "web"); !p.Ready() || o.Node != "pve3" {
		t.Errorf("plan:\n%s", p)
	}
	id := p.object(t, "web").VMID
	w.Guests[id].Node, w.Guests[id].Status = "pve1", model.StatusStopped
	if o := converge(t, w, desired(v)).object(t, "web"); o.Wait == nil || o.Wait.Reason != model.WaitHost {
		t.Errorf("it is started where its hook isn't:\n%s", o)
	}
}
