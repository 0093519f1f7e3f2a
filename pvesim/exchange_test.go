package pvesim

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/proxplane/proxplane/pvesim/world"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestExchanges plays the conversations in testdata/exchanges, which hold
// what Proxmox' sources say beyond what was recorded. A conversation is
//
//	world lab 9.2
//	# why
//	> root PUT /nodes/pve1/qemu/100/config memory=8
//	< 400 memory: value must have a minimum value of 16
//
// A request names who asks (root, another user or a token), and has its
// parameters as key=value, with %XX for what can't stand there; "json={…}" is
// a body, "filename=@os.qcow2" uploads an image. Its task is waited for, unless "&" comes last; "| a b" picks keys of
// the answer. "sleep 5s" lets time pass. Answers are the status, the reason
// or the texts by parameter, the data, and how the task ended. A world of both
// releases ("lab 9.2 8.4") is played twice; "<8" is 8.4's answer.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
			out := playFile(t, lines)
			if *golden.Update {
				if err := os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// playFile plays all conversations of a file and returns its lines with the
// answers that came.
func playFile(t *testing.T, lines []string) []string {
	var out []string
	for len(lines) > 0 {
		if !strings.HasPrefix(lines[0], "world ") {
			out, lines = append(out, lines[0]), lines[1:]
			continue
		}
		end := len(lines)
		if i := slices.IndexFunc(lines[1:], func(l string) bool { return strings.HasPrefix(l, "world ") }); i >= 0 {
			end = i + 1
		}
		words := strings.Fields(lines[0])
		var got [][]string
		for _, release := range words[2:] {
			synctest.Test(t, func(t *testing.T) {
				got = append(got, newTalk(t, words[1], release).play(lines[:end]))
			})
		}
		out = append(out, mergeReleases(lines[:end], got)...)
		lines = lines[end:]
	}
	return out
}

// mergeReleases writes a conversation with its answers: one line where the
// releases agree.
func mergeReleases(lines []string, got [][]string) []string {
	var out []string
	for i, line := range lines {
		if strings.HasPrefix(line, "<") {
			continue
		}
		out = append(out, line)
		if got[0][i] == "" {
			continue
		}
		out = append(out, "< "+got[0][i])
		if len(got) > 1 && got[1][i] != got[0][i] {
			out = append(out, "<8 "+got[1][i])
		}
	}
	return out
}

// library is an Internet with images, but for paths that say that there is none.
type library struct{ BootableImages }

func (l library) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.BootableImages.RoundTrip(r)
	if strings.HasPrefix(r.URL.Path, "/gone") {
		res.StatusCode, res.Status = http.StatusNotFound, "404 Not Found"
	}
	return res, err
}

// minorityWorld is a cluster of which most is down.
func minorityWorld(release string) *World {
	w := town(release)
	w.Nodes[1].State = Offline
	w.Guests = []WorldGuest{{ID: 100, Node: "pve1", Running: true}, {ID: 101, Node: "pve1"}}
	return w
}

// plainWorld is the one in which the recordings start, without its timing.
func plainWorld(release string) *World {
	w, err := LoadWorld("world/recorded.yaml")
	if err != nil {
		panic(err)
	}
	w.Release, w.Timing = release, Timing{}
	w.Users[0].Password = "secret"
	return w
}

// wiredWorld has network cards, some of which are in use.
func wiredWorld(release string) *World {
	w := plainWorld(release)
	n := &w.Nodes[0]
	n.NICs, n.Bonds = []string{"eno1", "eno2", "enp5s0", "eno4"}, []world.Bond{{Name: "bond0", Slaves: []string{"eno2", "enp5s0"}, Mode: "active-backup"}}
	n.Bridges[0].Ports, n.Bridges[1].Ports = []string{"eno1"}, []string{"bond0"}
	return w
}

// cardsWorld has hosts with PCI devices.
func cardsWorld(release string) *World {
	w := town(release)
	w.Nodes[0].PCI = map[string]string{"0000:01:00.0": "10de:2204", "0000:01:00.1": "10de:1aef", "0000:02:00.0": "10de:2204"}
	w.Nodes[1].PCI = map[string]string{"0000:41:00.0": "10de:2204"}
	return w
}
