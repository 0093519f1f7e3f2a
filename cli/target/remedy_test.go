package target

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	_ "github.com/proxplane/proxplane/test/kit/chance"
	"github.com/proxplane/proxplane/test/kit/pveum"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

// rights is a cluster in which some user has got rights in some way.
type rights struct {
	root  *pve.Client
	creds pve.Credentials
}

// grantSomehow gives a user, its group and its token roles on paths.
func (r *rights) grantSomehow(t *rapid.T, token string) {
	ctx, access := context.Background(), r.root.Access()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(access.CreateUser(ctx, pve.NewUser{ID: "me@pve", Password: pve.NewSecret("password")}))
	must(r.root.Call(ctx, "POST", "/access/groups", pve.Params{"groupid": "team"}, nil))
	must(r.root.Call(ctx, "PUT", "/access/users/me@pve", pve.Params{"groups": "team"}, nil))
	must(r.root.Call(ctx, "POST", "/pools", pve.Params{"poolid": "team"}, nil))
	r.creds = pve.Password("me@pve", "password")
	if token != "" {
		made, err := access.CreateToken(ctx, "me@pve", "laptop", pve.NewToken{PrivSep: new(token == "separate")})
		must(err)
		r.creds = made.Credentials()
	}
	must(access.CreateRole(ctx, "Looker", []string{"VM.Audit", "Datastore.Audit"}))
	must(access.CreateRole(ctx, "Auditor", []string{"VM.Audit", "VM.Console", "Sys.Audit"}))
	must(access.CreateRole(ctx, "me-more", []string{"VM.Backup"})) // the name is taken
	paths := []string{"/", "/vms", "/vms/9000", "/pool/team", "/storage", "/access"}
	roles := []string{"Looker", "Auditor", "PVEVMUser", "PVEAuditor"}
	for i := range rapid.IntRange(0, 4).Draw(t, "entries") {
		c := pve.ACLChange{
			Path: rapid.SampledFrom(paths).Draw(t, fmt.Sprint("path ", i)), Roles: []string{rapid.SampledFrom(roles).Draw(t, fmt.Sprint("role ", i))},
			Propagate: new(rapid.IntRange(0, 3).Draw(t, fmt.Sprint("below ", i)) > 0),
		}
		switch who := rapid.IntRange(0, 3).Draw(t, fmt.Sprint("whom ", i)); {
		case who == 0:
			c.Groups = []string{"team"}
		case who == 1 && token != "":
			c.Tokens = []string{"me@pve!laptop"}
		case who == 2 && token != "":
			c.Users, c.Tokens = []string{"me@pve"}, []string{"me@pve!laptop"}
		default:
			c.Users = []string{"me@pve"}
		}
		must(access.SetACL(ctx, c))
	}
	if rapid.Bool().Draw(t, "in a pool") {
		must(r.root.Call(ctx, "PUT", "/pools", pve.Params{"poolid": "team", "vms": "9000"}, nil))
	}
}

// of are the privileges of somebody, as "path privilege".
func (r *rights) of(t *rapid.T, who string) map[string]bool {
	all := map[string]bool{}
	for _, path := range []string{"", "/vms/9000", "/vms/100", "/vms/101", "/vms/102", "/pool/other", "/storage/nfs", "/nodes/pve1"} {
		p, err := r.root.Access().Permissions(context.Background(), who, path)
		if err != nil {
			t.Fatal(err)
		}
		for path, held := range p {
			for priv := range held {
				if privileges.Means(path, priv) {
					all[path+" "+priv] = true
				}
			}
		}
	}
	return all
}

// TestRemediesWorkAsPrinted pastes them into a shell: what was lacking is there then,
// and nothing is taken away.
func TestRemediesWorkAsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sim, err := pvesim.New(nil, pvesim.WithClock(pvesim.NewFastClock(100)))
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		transport, stop := sim.Transport()
		defer stop()
		connect := func(creds pve.Credentials) *pve.Client { return kit.Over(t, transport, creds) }
		r := &rights{root: connect(pve.Password("root@pam", "proxplane"))}
		token := rapid.SampledFrom([]string{"", "same", "separate"}).Draw(t, "token")
		r.grantSomehow(t, token)
		who := "me@pve"
		if token != "" {
			who += "!laptop"
		}
		l := rapid.SampledFrom([]model.Lack{
			{Path: "/vms/9000", Privs: []string{"VM.Clone"}},
			{Path: "/vms/100", Privs: []string{"VM.Allocate", "VM.Clone"}},
			{Path: "/storage/nfs", Privs: []string{"Datastore.AllocateSpace", "Datastore.Allocate"}, Any: true},
			{Path: "/", Privs: []string{"Sys.Modify"}},
		}).Draw(t, "lack")
		also := rapid.SliceOfN(rapid.SampledFrom([]model.Lack{
			{Path: "/vms/101", Privs: []string{"VM.PowerMgmt"}},
			{Path: "/vms/102", Privs: []string{"VM.PowerMgmt"}},
			{Path: "/pool/other", Privs: []string{"VM.Allocate"}},
		}), 0, 2).Draw(t, "beside it")
		c := &Site{Wanted: manifest.Wanted{Connection: manifest.Connection{Credentials: r.creds}}, Client: connect(r.creds)}
		before, userBefore := r.of(t, who), r.of(t, "me@pve")
		lines := Remedies{}.For(c, append([]model.Lack{l}, also...)...)
		for _, line := range lines {
			if command, ok := strings.CutPrefix(line, "  "); ok {
				if _, err := pveum.Run(context.Background(), r.root, command); err != nil {
					t.Fatal(err)
				}
			}
		}
		now := r.of(t, who)
		exactly := map[string]bool{}
		for _, l := range append([]model.Lack{l}, also...) {
			needs := l.Privs
			if l.Any {
				needs = []string{privileges.Least(l.Path, needs)}
			}
			for _, p := range needs {
				if exactly[l.Path+" "+p] = true; !now[l.Path+" "+p] {
					t.Errorf("%s on %s is still missing after\n%s", p, l.Path, strings.Join(lines, "\n"))
				}
			}
		}
		for _, has := range slices.Sorted(maps.Keys(now)) {
			if !before[has] && !exactly[has] {
				t.Errorf("%s was granted, which nobody asked for, by\n%s", has, strings.Join(lines, "\n"))
			}
		}
		warned := strings.Contains(strings.Join(lines, "\n"), "takes the place of what it has there")
		for _, of := range []struct{ before, now map[string]bool }{{before, now}, {userBefore, r.of(t, "me@pve")}} {
			for _, had := range slices.Sorted(maps.Keys(of.before)) {
				if !of.now[had] && !warned {
					t.Errorf("%s is gone after\n%s", had, strings.Join(lines, "\n"))
				}
			}
		}
	})
}
