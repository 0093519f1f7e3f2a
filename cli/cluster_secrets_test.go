package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/secret"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// secretive is a file with a secret in every place that people put one into.
const secretive = `
name: home
provider: {type: proxmox, nodes: ["*"], vip: 192.168.77.20, template: ubuntu-22-template}
kubernetes:
  version: v1.30.14+rke2r1
  source: https://releases.test
  checksum: %s
  registries: {configs: {mirror.test: {auth: {username: me, password: first-kept-word}}}}
  env: {HTTPS_PROXY: "http://me:second-kept-word@proxy:3128"}
  config: {etcd-s3-secret-key: third-kept-word}
  manifests: [{name: key, content: "{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {key: fourth-kept-word}}"}]
  charts: [{name: db, chart: db, values: {auth: {password: fifth-kept-word}}}]
nodes: {workers: {count: 1}}
`

// What whoever may see machines can read, and what commands print, has no secret of a cluster in it: notes with their packed
// records, tags and other options, tasks, plans, and what programs in machines are called with.
func TestTheSecretsOfAClusterAreReadNowhere(t *testing.T) {
	t.Parallel()
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	l := startLabIn(t, pvesim.NewFastClock(1), w)
	file := l.write("home.yaml", fmt.Sprintf(secretive, sim.ImageSum()))
	var finder secret.Finder
	for i, word := range []string{"first", "second", "third", "fourth", "fifth"} {
		finder.Add(fmt.Sprintf("secret %d", i+1), word+"-kept-word")
	}
	look := func(where, text string) {
		t.Helper()
		if found := finder.In(text); len(found) > 0 {
			t.Errorf("%s has %s", where, strings.Join(found, ", "))
		}
	}
	// It would be seen.
	if len(finder.In(fmt.Sprint(opened(t, "kept: "+packedText(t, "fifth-kept-word"))))) == 0 {
		t.Fatal("a secret in a record isn't found")
	}
	token := ""
	for _, args := range [][]string{
		{"init", "--config", file, "--dry-run"}, {"init", "--config", file, "--dry-run", "-o", "json"}, {"init", "--config", file, "-o", "json"},
		{"status", "-c", "home", "-o", "json"}, {"validate", "--config", file, "-o", "json"}, {"scale", "worker=2", "-c", "home"},
		{"upgrade", "-c", "home", "--version", "v1.31.2+rke2r1", "--checksum", sim.ImageSum()}, {"replace", "home-worker-0", "-c", "home", "--yes"},
		{"export", "-c", "home", "--manifests"}, {"export", "-c", "home", "--tofu"}, {"rotate", "-c", "home"},
	} {
		code, out, stderr := l.run(append([]string{"cluster"}, args...)...)
		if code != ui.ExitOK {
			t.Fatalf("cluster %v: exit %d\n%s%s", args, code, out, stderr)
		}
		look(fmt.Sprintf("what cluster %s prints", args[0]), out+stderr)
		if token = joinToken(l); token != "" {
			finder.Add("the token", token)
		}
	}
	if token == "" {
		t.Fatal("no machine has a token")
	}
	records := 0
	for name, text := range l.visible() {
		look(name, text)
		for _, record := range opened(t, text) {
			look("the record in "+name, record)
			records++
		}
	}
	if records == 0 {
		t.Error("there is no record to look into")
	}
}

// joinToken is the token as a control plane has it; empty: there is none yet.
func joinToken(l *lab) (token string) {
	l.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			if vm.Run == nil || vm.Run.Guest == nil {
				continue
			}
			for line := range strings.Lines(string(vm.Run.Guest.Files["/etc/rancher/rke2/config.yaml"])) {
				if text, ok := strings.CutPrefix(line, "token: "); ok {
					token = strings.TrimSpace(text)
				}
			}
		}
	})
	return token
}

// visible is what whoever may see guests and tasks can read, by where it is.
func (l *lab) visible() map[string]string {
	out := map[string]string{}
	l.sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			var text strings.Builder
			for _, key := range slices.Sorted(maps.Keys(vm.Conf)) {
				fmt.Fprintf(&text, "%s: %s\n", key, vm.Conf[key])
			}
			out[fmt.Sprintf("the config of VM %d", id)] = text.String()
		}
		for _, tasks := range st.Tasks {
			for _, task := range tasks {
				out["task "+task.UPID] = task.UPID + strings.Join(task.Log, "\n") + task.Exit
			}
		}
	})
	for _, r := range l.sim.Requests(0) {
		out["a request"] += fmt.Sprintf("%+v\n", r)
	}
	return out
}

var packedPart = regexp.MustCompile(`[A-Za-z0-9_-]{40,}`)

// opened are the packed parts of a text.
func opened(t *testing.T, text string) (list []string) {
	t.Helper()
	text = strings.ReplaceAll(text, `\u002d`, "-") // as notes have it
	for _, part := range packedPart.FindAllString(text, -1) {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			continue
		}
		plain, err := io.ReadAll(z)
		if err != nil { // logs cut what is long
			continue
		}
		list = append(list, string(plain))
	}
	return list
}

func packedText(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}
