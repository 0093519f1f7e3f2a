package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// offers has the mirror have a release, which is built once.
func (r *realCluster) offers(t *testing.T, suffix string) release {
	t.Helper()
	one, there := r.releases[suffix]
	if !there {
		one = releaseOf(t, r.parts, suffix)
		r.releases[suffix] = one
		t.Logf("the archive of %s has %d MiB", one.version, len(one.archive)>>20)
	}
	r.mirror.put(one.at(), one.archive, "")
	return one
}

// at is where it is fetched.
func (r release) at() string {
	return "releases.test/rke2/" + r.version + "/rke2.linux-amd64.tar.gz"
}

// timed runs a command, and says how long it took.
func (r *realCluster) timed(args ...string) string {
	r.t.Helper()
	began := time.Now()
	out, err := r.run(r.as(append([]string{"cluster"}, args...)...)...)
	r.t.Logf("cluster %s took %s\n%s", args[0], time.Since(began).Round(time.Second), out)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// changes runs a command that waits for machines.
func (r *realCluster) changes(args ...string) string {
	r.t.Helper()
	return r.timed(append(args, "-c", "lab", "--timeout", (2 * *patience).String())...)
}

// hasReady waits until as many machines are nodes that are ready and run the version. A kubelet that starts says that it is there
// before it says what it is.
func (r *realCluster) hasReady(n int) {
	r.t.Helper()
	r.eventually("nodes", func(context.Context) error {
		out, err := r.run(r.as("cluster", "status", "-c", "lab")...)
		if err == nil && (strings.Count(out, " ready ") != n || strings.Count(out, " "+r.life.Version+"\n") != n) {
			err = fmt.Errorf("want %d nodes that are ready with %s:\n%s", n, r.life.Version, out)
		}
		return err
	})
}

// kubectl runs it in the control plane.
func (r *realCluster) kubectl(args string) string {
	r.t.Helper()
	return r.sh(r.vm("lab-cp-0"), "/var/lib/rancher/rke2/bin/kubectl --kubeconfig /etc/rancher/rke2/rke2.yaml "+args)
}

// scales adds a worker, which gets the token and the secrets from the control plane, and removes it again.
func (r *realCluster) scales() {
	r.changes("scale", "worker=2")
	r.hasReady(3)
	r.has(r.vm("lab-worker-1"), "cat /etc/proxplane/env", "WORD=a-secret-word")
	r.changes("scale", "worker=1", "--yes")
	r.hasReady(2)
	if nodes := r.kubectl("get nodes -o name"); strings.Contains(nodes, "lab-worker-1") {
		r.t.Errorf("a node is left: %s", nodes)
	}
}

// backupFile is where the backup is.
func (r *realCluster) backupFile() string { return filepath.Join(r.dir, "lab.backup") }

// backsUp takes a snapshot of an etcd that has a namespace, which is deleted afterwards.
func (r *realCluster) backsUp() {
	r.kubectl("create namespace shop")
	r.timed("backup", "-c", "lab", "-o", r.backupFile())
	r.kubectl("delete namespace shop --wait=false")
}

// upgrades installs the next release on both machines.
func (r *realCluster) upgrades() {
	next := r.offers(r.t, nextSuffix)
	r.changes("upgrade", "--version", next.version, "--checksum", sha(next.archive))
	r.mirror.wasAsked(r.t, next.at())
	r.life.Suffix, r.life.Version = nextSuffix, next.version
	r.hasReady(2)
}

// replaces makes the worker anew.
func (r *realCluster) replaces() {
	was := r.sh(r.vm("lab-worker-0"), "cat /etc/machine-id")
	r.changes("replace", "lab-worker-0", "--yes")
	r.hasReady(2)
	if r.sh(r.vm("lab-worker-0"), "cat /etc/machine-id") == was {
		r.t.Error("it is the same machine")
	}
}

// restores goes back to the backup, which is of the time before the upgrade: what etcd had then is there again, and the
// machines are as they are now.
func (r *realCluster) restores() {
	r.timed("restore", r.backupFile(), "--yes", "--timeout", (2 * *patience).String())
	if names := r.kubectl("get namespaces -o name"); !strings.Contains(names, "namespace/shop") {
		r.t.Errorf("what the snapshot has isn't there: %s", names)
	}
	r.hasReady(2)
}

// rotates renews the certificates.
func (r *realCluster) rotates() {
	const serial = "sha256sum /var/lib/rancher/rke2/server/tls/serving-kube-apiserver.crt"
	was := r.sh(r.vm("lab-cp-0"), serial)
	r.changes("rotate")
	if r.sh(r.vm("lab-cp-0"), serial) == was {
		r.t.Error("the certificate of the API server is the same")
	}
	r.hasReady(2)
}

// isDestroyed destroys the cluster, and compares what is left with what was there before it was made.
func (r *realCluster) isDestroyed() {
	r.timed("destroy", "-c", "lab", "--force", "--cleanup")
	if after := r.inventory(); after != r.life.Before {
		r.t.Errorf("before:\n%s\nafter:\n%s", r.life.Before, after)
	}
}

// check is what validate says.
type check struct {
	Check, Text string
	OK, Skipped bool
}

// checks are those that need no images of containers.
func (r *realCluster) checks() map[string]check {
	r.t.Helper()
	began := time.Now()
	out, _ := r.run(r.as("cluster", "validate", "-c", "lab", "--quick", "-o", "json")...)
	var said struct{ Checks []check }
	if err := json.Unmarshal([]byte(out[:strings.LastIndex(out, "}")+1]), &said); err != nil {
		r.t.Fatalf("%v in %s", err, out)
	}
	all := map[string]check{}
	for _, c := range said.Checks {
		r.t.Logf("%-13s %v %s", c.Check, c.OK, c.Text)
		all[c.Check] = c
	}
	r.t.Logf("cluster validate took %s", time.Since(began).Round(time.Second))
	return all
}

// validates has all checks agree that there is a cluster with as many nodes.
func (r *realCluster) validates(nodes int) {
	r.t.Helper()
	for _, c := range r.checks() {
		switch {
		case c.Check == "system pods": // kube-vip's static pods are known, and there is no image for them
			if !strings.Contains(c.Text, "kube-vip-lab-cp-0") {
				r.t.Errorf("kube-vip's static pod isn't known to the API server: %s", c.Text)
			}
		case !c.OK && !c.Skipped:
			r.t.Errorf("%s: %s", c.Check, c.Text)
		case c.Check == "nodes" && !strings.Contains(c.Text, fmt.Sprintf("%d nodes are ready with %s", nodes, r.life.Version)):
			r.t.Errorf("nodes: %s", c.Text)
		}
	}
}
