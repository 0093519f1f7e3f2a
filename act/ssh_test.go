package act_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

// overSSH is a cluster whose node pve1 is this server: by an address that is said, or by the one that the cluster tells.
func overSSH(t *testing.T, said bool) (*act.Actor, *breaker, *sshtest.Server) {
	t.Helper()
	w := world("9.2")
	w.Nodes[0].IP, w.Nodes[1].IP = "127.0.0.1", "192.0.2.1"
	w.Storages = append(w.Storages, pvesim.WorldStorage{Name: "blocks", Type: "lvmthin", Size: 1 << 40, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"}})
	w.Storages[0].Content = append(w.Storages[0].Content, "snippets")
	sim, err := pvesim.New(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	tr, stop := sim.Transport()
	t.Cleanup(stop)
	broken := &breaker{RoundTripper: tr}
	c := kit.Over(t, broken, pve.Password("root@pam", "secret"))
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := sshtest.Start(t)
	hosts := &ssh.Hosts{Config: ssh.Config{Key: server.Authorize(), KnownHosts: server.KnownHosts()}}
	if said {
		hosts.Addresses = map[string]string{"pve1": server.Address}
	} else {
		_, port, _ := net.SplitHostPort(server.Address)
		hosts.Port, _ = strconv.Atoi(port)
	}
	return act.New(c).OverSSH(hosts), broken, server
}

const snippet = "local:snippets/proxplane-100-0123456789ab-user.yaml"

func TestSnippetsAreWrittenWhereTheirStorageHasThem(t *testing.T) {
	actor, broken, server := overSSH(t, true)
	up := model.UploadSnippets{Node: "pve1", For: 100, Volumes: map[string]string{"user": snippet}, Files: map[string][]byte{"user-data": []byte("secret")}}
	if _, err := actor.Do(t.Context(), up, act.Known{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(server.Folder, "var/lib/vz/snippets/proxplane-100-0123456789ab-user.yaml")
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info, err)
	}
	for _, c := range []struct {
		reason string
		change func(u *model.UploadSnippets)
		want   error
	}{
		{"it isn't a snippet", func(u *model.UploadSnippets) { u.Volumes = map[string]string{"user": "local:iso/proxplane-1-a.iso"} }, act.ErrNotOurs},
		{"its name isn't ours", func(u *model.UploadSnippets) { u.Volumes = map[string]string{"user": "local:snippets/theirs.yaml"} }, act.ErrNotOurs},
		{"it is in a folder", func(u *model.UploadSnippets) {
			u.Volumes = map[string]string{"user": "local:snippets/proxplane-1/x.yaml"}
		}, act.ErrNotOurs},
		{"its storage has no folder", func(u *model.UploadSnippets) {
			u.Volumes = map[string]string{"user": "blocks:snippets/proxplane-1-a-user.yaml"}
		}, pve.ErrInvalid},
		{"its storage isn't there", func(u *model.UploadSnippets) {
			u.Volumes = map[string]string{"user": "none:snippets/proxplane-1-a-user.yaml"}
		}, pve.ErrNotFound},
		{"its files can't be made", func(u *model.UploadSnippets) { u.Recipe = &model.Recipe{Butane: []string{"variant: nobody"}} }, nil},
	} {
		one := up
		c.change(&one)
		if _, err := actor.Do(t.Context(), one, act.Known{}); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
	broken.from = 1
	if _, err := actor.Do(t.Context(), up, act.Known{}); err == nil || !strings.Contains(err.Error(), "ask where storage local is") {
		t.Errorf("Proxmox doesn't say where the storage is: %v", err)
	}
	broken.from = 0
	server.OnWrite(func() error { return os.ErrPermission })
	if _, err := actor.Do(t.Context(), up, act.Known{}); err == nil {
		t.Error("nothing was written, and nobody says so")
	}
}

func TestNodesAreLoggedInToWhereTheClusterSaysThatTheyAre(t *testing.T) {
	actor, broken, server := overSSH(t, false)
	here := model.UploadSnippets{Node: "pve1", For: 100, Volumes: map[string]string{"user": snippet}, Files: map[string][]byte{"user-data": []byte("secret")}}
	if _, err := actor.Do(t.Context(), here, act.Known{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(server.Folder, "var/lib/vz/snippets/proxplane-100-0123456789ab-user.yaml")); err != nil {
		t.Error(err)
	}
	up := model.UploadSnippets{Node: "pve9", For: 100, Volumes: map[string]string{"user": snippet}}
	if _, err := actor.Do(t.Context(), up, act.Known{}); !errors.Is(err, ssh.ErrUnreachable) || !strings.Contains(err.Error(), "pve9") {
		t.Errorf("a node that isn't in the cluster: %v", err)
	}
	broken.from = 1
	if _, err := actor.Do(t.Context(), up, act.Known{}); err == nil || !strings.Contains(err.Error(), "ask for the address of pve9") {
		t.Errorf("the cluster doesn't answer: %v", err)
	}
}
