package site_test

import (
	"errors"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

func TestProgramsRunAndFilesAreReadInsideMachines(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web := owner("shop", "web")
		if _, err := s.Exec(t.Context(), web, site.Command{Args: []string{"hostname"}}); !errors.Is(err, site.ErrNotFound) {
			t.Errorf("no machine: %v", err)
		}
		l.put(s, machine(2), web)
		l.await(s, web, site.Ready)
		ran, err := s.Exec(t.Context(), web, site.Command{Args: []string{"sh", "-c", "cat > /root/note"}, Input: []byte("hello\n")})
		if err != nil || ran.Code != 0 {
			t.Fatalf("%+v, %v", ran, err)
		}
		if content, err := s.ReadFile(t.Context(), web, "/root/note"); err != nil || string(content) != "hello\n" {
			t.Errorf("%q, %v", content, err)
		}
		if _, err := s.ReadFile(t.Context(), web, "/root/other"); !errors.Is(err, pve.ErrNotFound) {
			t.Errorf("no file: %v", err)
		}
		if ran, err := s.Exec(t.Context(), web, site.Command{Args: []string{"sh", "-c", "echo no; exit 3"}}); err != nil || ran.Code != 3 || ran.Out != "no\n" {
			t.Errorf("a program that fails: %+v, %v", ran, err)
		}
	})
}

// The VMID of a machine may be used again by the time somebody reaches into it.
func TestNobodyReachesIntoMachinesOfOthers(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web := owner("shop", "web")
		l.put(s, machine(2), web)
		vmid := l.await(s, web, site.Ready).VMID
		m, err := s.Read(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		l.sim.Do(func(st *pvesim.State) {
			st.VMs[vmid].Conf["description"] = model.Describe("", model.Marker{Owner: owner("shop", "db"), VMID: vmid})
		})
		hand, at := s.ByHand(t.Context()), model.Target{VMID: vmid, Node: m.Guest.Node}
		if _, err := hand.Exec(t.Context(), m.Guest, model.Exec{Target: at, Owner: web, Command: []string{"sh", "-c", "echo > /root/note"}}); !errors.Is(err, act.ErrNotOurs) {
			t.Errorf("exec: %v", err)
		}
		if _, _, err := hand.ReadFile(t.Context(), m.Guest, model.ReadFile{Target: at, Owner: web, File: "/etc/hostname"}); !errors.Is(err, act.ErrNotOurs) {
			t.Errorf("read: %v", err)
		}
		if _, err := hand.Exec(t.Context(), m.Guest, model.Exec{Target: at, Command: []string{"true"}}); !errors.Is(err, act.ErrNotOurs) {
			t.Errorf("nobody's: %v", err)
		}
		if _, err := hand.Exec(t.Context(), m.Guest, model.Exec{Target: at, Owner: owner("shop", "db"), Command: []string{"test", "!", "-e", "/root/note"}}); err != nil {
			t.Errorf("its own: %v", err)
		}
	})
}
