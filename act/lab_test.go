package act_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/admission"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/packed"
)

const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ann at home"

var us = model.Owner{Door: "vm", Set: "test", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}

// inner owns the guest with a system that boots and an agent that answers.
var inner = model.Owner{Door: "vm", Set: "test", Key: model.Key{Kind: "VirtualMachine", Name: "inner"}}

func world(release string) *pvesim.World {
	them := us
	them.Set = "other"
	guest := func(id int, name, description string) pvesim.WorldGuest {
		return pvesim.WorldGuest{ID: id, Node: "pve1", Config: map[string]string{
			"name": name, "description": description, "scsi0": "local:4", "net0": "virtio,bridge=vmbr0",
		}}
	}
	return &pvesim.World{
		Release: release, Cluster: "lab",
		Nodes: []pvesim.WorldNode{{Name: "pve1", Memory: 64 << 30, Bridges: []pvesim.WorldBridge{{Name: "vmbr0"}}}, {Name: "pve2", Memory: 64 << 30}, {Name: "pve3", Memory: 64 << 30}},
		Storages: []pvesim.WorldStorage{{
			Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 1 << 40, Content: []string{"images", "iso", "import"},
			Volumes: []pvesim.WorldVolume{{Name: "iso/debian.iso", Size: 1 << 20}, {Name: "iso/proxplane-100-abc.iso", Size: 1 << 20}},
		}},
		Users: []pvesim.WorldUser{{ID: "root@pam", Password: "secret"}},
		Pools: []pvesim.WorldPool{{ID: "a"}, {ID: "b"}},
		Guests: []pvesim.WorldGuest{
			guest(100, "web", model.Describe("", model.Marker{Owner: us})),
			guest(101, "theirs", "somebody's"),
			guest(102, "others", model.Describe("", model.Marker{Owner: them})),
			{ID: 103, Node: "pve1", System: pvesim.WithAgent, Config: map[string]string{
				"name": "inner", "description": model.Describe("", model.Marker{Owner: inner}), "agent": "1", "scsi0": "local:4", "boot": "order=scsi0",
			}},
		},
	}
}

type lab struct {
	t      *testing.T
	sim    *pvesim.Sim
	client *pve.Client
	actor  *act.Actor
	turns  *admission.Limiter
	broken *breaker
}

// breaker answers requests itself when it is told to: each from the nth on fails.
type breaker struct {
	http.RoundTripper
	from int // 0: none
	seen int
}

func (b *breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.from > 0 {
		if b.seen++; b.seen >= b.from {
			if r.Body != nil {
				r.Body.Close()
			}
			return &http.Response{StatusCode: http.StatusInternalServerError, Status: "500 it is broken", Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
		}
	}
	return b.RoundTripper.RoundTrip(r)
}

// internet has packed images.
type internet struct{}

func (internet) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	packed.Server{}.ServeHTTP(w, r)
	res := w.Result()
	res.Request = r
	return res, nil
}

func inLab(t *testing.T, release string, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim, err := pvesim.New(world(release), pvesim.WithInternet(pvesim.BootableImages{}))
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		tr, stop := sim.Transport()
		defer stop()
		turns, broken := admission.New(admission.Config{}), &breaker{RoundTripper: tr}
		c, err := pve.New(pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "secret"), RoundTripper: broken, Limiter: turns})
		if err != nil {
			t.Fatal(err)
		}
		test(t, &lab{t, sim, c, act.New(c).Fetching(imagefile.New(internet{})), turns, broken})
	})
}

// do does an action and waits for its task.
func (l *lab) do(a model.Action) error {
	l.t.Helper()
	res, err := l.actor.Do(l.t.Context(), a, act.Known{})
	if err != nil || res.Task == "" {
		return err
	}
	_, err = l.actor.Watch(l.t.Context()).Follow(res.Task)
	return err
}

// must does an action, planned for the config that there is now.
func (l *lab) must(a model.Action) {
	l.t.Helper()
	if err := l.do(l.seen(a)); err != nil {
		l.t.Fatal(err)
	}
}

// seen is an action with the digest of the config that there is now, where it takes one and has none.
func (l *lab) seen(a model.Action) model.Action {
	digest := ""
	l.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[a.Guest()]; vm != nil {
			digest = vm.Digest()
		}
	})
	switch a := a.(type) {
	case model.Configure:
		a.Digest = cmp.Or(a.Digest, digest)
		return a
	case model.Release:
		a.Digest = cmp.Or(a.Digest, digest)
		return a
	case model.Detach:
		a.Digest = cmp.Or(a.Digest, digest)
		return a
	}
	return a
}

func (l *lab) conf(id int) (conf pvesim.Conf) {
	l.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			conf = vm.Conf
		}
	})
	return conf
}

// asked are the requests that have this in them.
func (l *lab) asked(part string) (n int) {
	for _, r := range l.sim.Requests(0) {
		if strings.Contains(r.Method+" "+r.URL, part) {
			n++
		}
	}
	return n
}

func at(id int) model.Target { return model.Target{VMID: id, Node: "pve1"} }
