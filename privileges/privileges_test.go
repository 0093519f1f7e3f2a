package privileges

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
)

// A permission that is about a parameter which nobody fills in would be granted to nobody.
func TestCallsHaveTheParametersThatTheirPermissionsAreAbout(t *testing.T) {
	ha := &model.HA{Group: "fast"}
	known := map[string]bool{}
	for _, a := range []model.Action{
		model.Clone{Pool: "web"}, model.Create{Pool: "web"}, model.Destroy{}, model.Migrate{}, model.MakeTemplate{}, model.Configure{}, model.Release{}, model.Detach{},
		model.Resize{}, model.MoveDisk{}, model.Start{}, model.Reboot{}, model.Resume{}, model.Shutdown{}, model.Stop{}, model.Snap{}, model.Unsnap{}, model.Rollback{},
		model.SetHA{}, model.SetHA{HA: ha}, model.SetHA{HA: ha, New: true}, model.KeepApart{}, model.KeepApart{New: true}, model.SetPool{Pool: "web", From: "old"}, model.SetFirewall{},
		model.Download{}, model.Unpack{}, model.UploadSeed{}, model.UploadSnippets{}, model.RemoveFile{}, model.RemoveDisk{}, model.MakeShare{}, model.MakeShare{New: true}, model.RemoveShare{},
		model.Exec{}, model.ReadFile{},
	} {
		known[model.FactsOf(a).Kind] = true
		for _, release := range []int{8, 9} {
			s, err := schema.Load(map[int]string{8: "8.4", 9: "9.2"}[release])
			if err != nil {
				t.Fatal(err)
			}
			list := calls(deed{action: a, guest: "/vms/100", newID: "/vms/101", source: "/vms/9000"}, Facts{Release: release})
			if len(list) == 0 {
				t.Errorf("%T makes no call", a)
			}
			for _, c := range list {
				if c.why == "" {
					t.Errorf("%s %s of %T has no reason", c.method, c.path, a)
				}
				endpoint := s.Lookup(c.method, c.path)
				if endpoint == nil {
					if release == 9 || !strings.Contains(c.path, "/rules") && !strings.Contains(c.path, "/mapping/dir") {
						t.Errorf("Proxmox VE %d has no call %s %s", release, c.method, c.path)
					}
					continue
				}
				for _, path := range paths(endpoint.Permissions.Check) {
					if _, ok := c.fill(path); !ok {
						t.Errorf("%s %s of %s: nobody says what %s is", c.method, c.path, reflect.TypeOf(a).Name(), path)
					}
				}
			}
		}
	}
	for _, kind := range model.Kinds() {
		if !known[kind] {
			t.Errorf("%s isn't tried here", kind)
		}
	}
}

// paths are the paths that a permission expression is about.
func paths(check schema.Check) (list []string) {
	switch e := check.(type) {
	case schema.And:
		for _, part := range e {
			list = append(list, paths(part)...)
		}
	case schema.Or:
		for _, part := range e {
			list = append(list, paths(part)...)
		}
	case schema.Perm:
		list = append(list, e.Path)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
