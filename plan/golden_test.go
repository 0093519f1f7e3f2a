package plan

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// lossesAreKnown: what a step says of its effect agrees with the facts of its action.
func lossesAreKnown(t *testing.T, p Plan) {
	t.Helper()
	for _, o := range p.Objects {
		for _, s := range o.Steps {
			if s.Effect == LosesData && model.FactsOf(s.Action).Loses == model.LosesNothing {
				t.Errorf("%s: %s loses data, but the facts of %T say that it can't", o.Owner.Key, s.What, s.Action)
			}
		}
	}
}

// goldens tries each file in testdata, which has what is wanted, what is there and the plan. parts are where
// the plan and its actions are in the archive.
func goldens(t *testing.T, try func(t *testing.T, file string, a *txtar.Archive, parts map[string]int, want model.Desired, have model.Observed)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden plans: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want model.Desired
			var have model.Observed
			parts := map[string]int{}
			for i, f := range a.Files {
				switch f.Name {
				case "want.yaml":
					err = yaml.UnmarshalStrict(f.Data, &want)
				case "have.yaml":
					err = yaml.UnmarshalStrict(f.Data, &have)
				case "plan", "actions":
					parts[f.Name] = i
				default:
					t.Fatalf("%s isn't known", f.Name)
				}
				if err != nil {
					t.Fatalf("%s: %v", f.Name, err)
				}
			}
			fillIn(&want, &have)
			try(t, file, a, parts, want, have)
		})
	}
}

// TestGoldenPlans: plans are in the files with their actions in full, so that reviewers read diffs of
// plans.
func TestGoldenPlans(t *testing.T) {
	goldens(t, func(t *testing.T, file string, a *txtar.Archive, parts map[string]int, want model.Desired, have model.Observed) {
		made := For(want, &have)
		lossesAreKnown(t, made)
		for _, text := range unsaid(made) {
			t.Error(text)
		}
		changed := false
		for _, part := range []txtar.File{{Name: "plan", Data: []byte(made.String())}, {Name: "actions", Data: []byte(details(made))}} {
			at, there := parts[part.Name]
			switch {
			case there && bytes.Equal(part.Data, a.Files[at].Data), !there && len(part.Data) == 0:
			case !*golden.Update && there:
				t.Errorf("%s is\n%s\nwant\n%s", part.Name, part.Data, a.Files[at].Data)
			case !*golden.Update:
				t.Errorf("%s isn't there:\n%s", part.Name, part.Data)
			case there:
				a.Files[at], changed = part, true
			default:
				a.Files, changed = append(a.Files, part), true
			}
		}
		if !changed {
			return
		}
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// allURLs has every node fetch every image, and nothing be known of it.
func allURLs(want model.Desired, nodes map[string]*model.Node) map[string]model.URLState {
	urls := map[string]model.URLState{}
	for _, i := range want.Images {
		urls[model.URLKey("", i.URL)] = model.URLState{}
		for node := range nodes {
			urls[model.URLKey(node, i.URL)] = model.URLState{}
		}
	}
	return urls
}

// fillIn saves the files from repeating what is the same everywhere.
func fillIn(want *model.Desired, have *model.Observed) {
	if want.Set == "" {
		want.Set = "default"
	}
	if want.Range == (model.Range{}) {
		want.Range = model.Range{First: 5000, Last: 5999}
	}
	own := func(o *model.Owner, kind string) {
		o.Door, o.Set = "vm", cmp.Or(o.Set, want.Set)
		if o.Kind == "" {
			o.Kind = kind
		}
	}
	for i := range want.VMs {
		v := &want.VMs[i]
		own(&v.Owner, "VirtualMachine")
		if v.Name == "" {
			v.Name = v.Owner.Name
		}
		if v.Range == (model.Range{}) {
			v.Range = model.Range{First: 5000, Last: 5999}
		}
	}
	for i := range want.Images {
		own(&want.Images[i].Owner, "VMImage")
		want.Images[i].Range = model.Range{First: 6000, Last: 6999}
	}
	for i := range want.Snapshots {
		own(&want.Snapshots[i].Owner, "VMSnapshot")
	}
	if have.Nodes == nil {
		have.Nodes = newWorld().Nodes
	}
	if have.Storages == nil {
		have.Storages = newWorld().Storages
	}
	if have.Bridges == nil {
		have.Bridges = map[string]map[string]bool{}
		for node := range have.Nodes {
			have.Bridges[node] = map[string]bool{"vmbr0": true, "vmbr1": true, "vmbr2": true}
		}
	}
	if have.Volumes == nil {
		have.Volumes = model.Volumes{}
	}
	if have.Rights == nil {
		have.Rights = allRights(*want)
	}
	if have.URLs == nil {
		have.URLs = allURLs(*want, have.Nodes)
	}
	for id, g := range have.Guests {
		g.VMID = id
		if c := g.Config; c != nil {
			if c.Marker != nil {
				own(&c.Marker.Owner, "VirtualMachine")
			}
			if c.Running != nil && c.Running.Marker != nil {
				own(&c.Running.Marker.Owner, "VirtualMachine")
			}
			if c.Options == nil {
				c.Options = map[string]string{}
			}
			setIfEmpty(c.Options, "name", g.Name)
			g.Tags = c.Tags
		}
	}
}

// allRights are those of somebody who may see everything.
func allRights(want model.Desired) map[string]map[string]bool {
	rights := map[string]map[string]bool{}
	all := map[string]bool{"Datastore.Audit": true, "Pool.Audit": true, "SDN.Use": true, "Mapping.Use": true, mayAllocate: true, mayFetch: true}
	rights["/vms"] = map[string]bool{"VM.Audit": true, "VM.Allocate": true, "VM.Clone": true, "VM.Migrate": true, "VM.Config.Options": true}
	for name := range newWorld().Storages {
		rights["/storage/"+name] = all
	}
	for _, v := range want.VMs {
		rights["/pool/"+v.Pool] = all
		for _, use := range storagesFor(v) {
			rights["/storage/"+use.name] = all
		}
		for _, bridge := range bridgesOf(v.NICs) {
			rights["/sdn/zones/localnetwork/"+bridge] = all
		}
	}
	return rights
}

func setIfEmpty(m map[string]string, k, v string) {
	if m[k] == "" {
		m[k] = v
	}
}
