package schema

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadKnowsItsReleases(t *testing.T) {
	for _, release := range Releases() {
		s := mustLoad(t, release)
		if s.Release != release || !strings.HasPrefix(s.Version, release+".") || s.RepoID == "" {
			t.Errorf("schema of %s says %q %q %q", release, s.Release, s.Version, s.RepoID)
		}
	}
	if _, err := Load("7.4"); err == nil {
		t.Error("7.4 was loaded")
	}
}

func TestLoadIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Load(Releases()[i%2])
			if err != nil {
				t.Error(err)
				return
			}
			ep := s.Lookup("POST", "/nodes/{node}/qemu")
			if _, errs := ep.Verify(map[string]any{"node": "pve1", "vmid": "100", "net0": "virtio,bridge=vmbr0", "vmgenid": "1"}); errs != nil {
				t.Error(errs)
			}
		})
	}
	wg.Wait()
}

// params calls f with every parameter of a release, however deep.
func params(s *Schema, f func(where string, p *Param)) {
	var walk func(where string, p *Param)
	walk = func(where string, p *Param) {
		f(where, p)
		if p.Items != nil {
			walk(where+"[]", p.Items)
		}
		if p.FormatProps != nil {
			for name, sub := range p.FormatProps.object.props {
				walk(where+":"+name, sub)
			}
		}
		if p.object != nil {
			for name, sub := range p.object.props {
				walk(where+" "+name, sub)
			}
		}
		for _, sub := range p.allOf {
			walk(where, sub)
		}
		for _, sub := range p.oneOf {
			walk(where, sub)
		}
		if p.typeSchema != nil {
			walk(where, p.typeSchema)
		}
	}
	for _, ep := range s.Endpoints() {
		walk(ep.String(), ep.root)
	}
}

func TestEveryPatternCompiles(t *testing.T) {
	for _, release := range Releases() {
		seen := map[*pattern]bool{}
		params(mustLoad(t, release), func(where string, p *Param) {
			if p.pattern == nil {
				return
			}
			seen[p.pattern] = true
			if _, _, err := p.pattern.compile(); err != nil {
				t.Errorf("%s %s: %v", release, where, err)
			}
		})
		if len(seen) < 50 {
			t.Errorf("%s has only %d patterns", release, len(seen))
		}
	}
	patterns.Range(func(_, p any) bool {
		if _, _, err := p.(*pattern).compile(); err != nil {
			t.Errorf("pattern of a format: %v", err)
		}
		return true
	})
}

func TestEveryNamedFormatHasAChecker(t *testing.T) {
	for _, release := range Releases() {
		s := mustLoad(t, release)
		seen := map[string]bool{}
		params(s, func(where string, p *Param) {
			if p.Format == "" {
				return
			}
			seen[p.Format] = true
			f := s.Format(p.Format)
			switch {
			case f == nil:
				t.Errorf("%s %s: nobody checks %s", release, where, p.Format)
			case f.Props != nil && (f.List || f.Opt):
				t.Errorf("%s %s: %s is a list of property strings", release, where, p.Format)
			}
		})
		if len(seen) < 80 {
			t.Errorf("%s names only %d formats", release, len(seen))
		}
	}
}

// Verify leaves out what neither schema uses; this says when that changes.
func TestSchemasUseOnlyWhatVerifyKnows(t *testing.T) {
	for _, release := range Releases() {
		params(mustLoad(t, release), func(where string, p *Param) {
			switch p.Type {
			case "", "string", "integer", "number", "boolean", "array", "object", "ip":
			default:
				t.Errorf("%s %s has type %q", release, where, p.Type)
			}
			if p.oneOf != nil && p.typeProperty == "" {
				t.Errorf("%s %s: alternatives without a type", release, where)
			}
			if p.family && (!p.Optional || p.Index[1] < p.Index[0] || p.Requires != "") {
				t.Errorf("%s %s: family %+v", release, where, p)
			}
			if p.typeProperty != "" && p.oneOf == nil && p.instanceTypes == nil {
				t.Errorf("%s %s: no instance types", release, where)
			}
		})
	}
}

func TestPermissionsAreUnderstood(t *testing.T) {
	s := mustLoad(t, "9.2")
	for path, want := range map[string]Check{
		"POST /nodes/{node}/qemu/{vmid}/clone": And{
			Perm{Path: "/vms/{vmid}", Privs: []string{"VM.Clone"}},
			Or{Perm{Path: "/vms/{newid}", Privs: []string{"VM.Allocate"}},
				Perm{Path: "/pool/{pool}", Privs: []string{"VM.Allocate"}, RequireParam: "pool"}},
		},
		"PUT /access/acl": PermModify{Path: "{path}"},
	} {
		method, template, _ := strings.Cut(path, " ")
		if got := s.Lookup(method, template).Permissions.Check; !cmp.Equal(got, want) {
			t.Errorf("%s: %#v, want %#v", path, got, want)
		}
	}
	if p := s.Lookup("GET", "/access/domains").Permissions; p.User != "world" || p.Check != nil {
		t.Errorf("GET /access/domains: %#v", p)
	}
	if p := s.Lookup("POST", "/cluster/config").Permissions; p.User != "" || p.Check != nil {
		t.Errorf("POST /cluster/config is for root only, got %#v", p)
	}
	for _, bad := range []string{`{"check":["xor","a"]}`, `{"check":["perm"]}`, `{"check":["perm","/",["A"],"some",1]}`, `{"check":["and","a"]}`} {
		if err := new(Permissions).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was understood", bad)
		}
	}
}

func TestPrivilegesDifferBetweenReleases(t *testing.T) {
	for release, c := range map[string]struct{ has, hasNot string }{
		"9.2": {"VM.GuestAgent.Audit", "VM.Monitor"},
		"8.4": {"VM.Monitor", "VM.GuestAgent.Audit"},
	} {
		s := mustLoad(t, release)
		if err := s.CheckFormat("pve-priv", c.has); err != nil {
			t.Errorf("%s: %v", release, err)
		}
		if err := s.CheckFormat("pve-priv", c.hasNot); err == nil {
			t.Errorf("%s has %s", release, c.hasNot)
		}
	}
}
