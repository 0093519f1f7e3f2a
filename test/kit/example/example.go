// Package example has kubectl take the examples, for tests that run the operator
// through all of them.
package example

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// elsewhere are folders that Kubernetes can't take.
var elsewhere = map[string]string{
	"testdata":  "is no example",
	"cluster":   "is a file of the command line",
	"flatcar":   "has files beside its manifest, which Kubernetes hasn't",
	"karpenter": "has objects of another door, see test/karpenter",
	"machines":  "has objects of another door, see test/machines",
	"snippets":  "logs in to nodes, as the tests of the command line do",
}

// Folders are the examples that Kubernetes can take, below the folder that has all.
func Folders(all string) ([]string, error) {
	var folders []string
	for _, below := range []string{"*", "seed/*", "first-boot/*"} {
		found, err := filepath.Glob(filepath.Join(all, below))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if files, err := filepath.Glob(f + "/*.yaml"); err == nil && len(files) > 0 && elsewhere[filepath.Base(f)] == "" {
				folders = append(folders, f)
			}
		}
	}
	const known = 24
	if len(folders) < known {
		return nil, fmt.Errorf("there are only %d examples in %s", len(folders), all)
	}
	return folders, nil
}

// World is the Proxmox that the examples are for, without the user that [sim.Start] adds.
func World(all string) (*pvesim.World, error) {
	w, err := pvesim.LoadWorld(filepath.Join(all, "testdata", "world.yaml"))
	if err != nil {
		return nil, err
	}
	sim.Quick(w)
	sim.Late(w)
	w.Users = slices.DeleteFunc(w.Users, func(u pvesim.WorldUser) bool { return u.ID == sim.User })
	return w, nil
}

// NeedsRoot reports whether an example has something that only root@pam may do.
func NeedsRoot(folder string) bool { return filepath.Base(folder) == "host-side" }

// Kubectl runs kubectl in the namespace of an example, with an input. It ends the test
// when that fails.
type Kubectl func(input string, args ...string) string

// Apply has kubectl take an example. It takes all as it is, but for a forgotten "---".
func (k Kubectl) Apply(folder string) error {
	switch filepath.Base(folder) {
	case "storage":
		// Where "---" was forgotten, kubectl takes the last object only.
		text, err := os.ReadFile(filepath.Join(folder, "classes.yaml"))
		if err != nil {
			return err
		}
		k(regexp.MustCompile(`(?m)^apiVersion:`).ReplaceAllString(string(text), "---\napiVersion:"), "apply", "-f", "-")
		k("", "apply", "-f", folder)
	default:
		k("", "apply", "-f", folder)
	}
	return nil
}

// PointAt says where Proxmox really is and who we are, as people would have to.
func (k Kubectl) PointAt(server *sim.Server, folder string) {
	login := fmt.Sprintf("token_id: %q\n  token_secret: %q", sim.TokenID, sim.TokenSecret)
	if NeedsRoot(folder) {
		login = "username: root@pam\n  password: proxplane"
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: pve-credentials}\nstringData:\n  " + login + "\n"
	if filepath.Base(folder) != "insecure" {
		secret += fmt.Sprintf("  ca.crt: %q\n", sim.CA())
	}
	k(secret, "apply", "-f", "-")
	if k("", "get", "provider", "-o", "name") == "" {
		k("apiVersion: infra.virtrigaud.io/v1beta1\nkind: Provider\nmetadata: {name: proxmox}\nspec: {type: proxmox, endpoint: 'https://pve.example:8006'}\n", "apply", "-f", "-")
	}
	for _, p := range strings.Fields(k("", "get", "provider", "-o", "name")) {
		k("", "patch", p, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q,"credentialSecretRef":{"name":"pve-credentials"}}}`, server.Endpoint))
	}
}

// AwaitReady waits until everything that an example makes in Proxmox is Ready.
func (k Kubectl) AwaitReady(timeout string) {
	for _, kind := range []string{"vm", "vmclone", "vmsnapshot"} {
		if names := strings.Fields(k("", "get", kind, "-o", "name")); len(names) > 0 {
			k("", append([]string{"wait", "--for=condition=Ready", "--timeout", timeout}, names...)...)
		}
	}
}
