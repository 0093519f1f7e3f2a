package simulator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// clusterFile is the file of the cluster that the demo makes, as it is typed.
const clusterFile = "cluster/cluster.yaml"

// serveReleases says which releases of Kubernetes there are, as far as it is asked for that. What nodes
// fetch is a file like any other.
func serveReleases(w http.ResponseWriter, r *http.Request, release []byte) bool {
	switch {
	case r.URL.Path == "/channels":
		fmt.Fprint(w, `{"data": [{"id": "v1.30", "latest": "v1.30.14+rke2r1"}]}`)
	case strings.HasSuffix(r.URL.Path, "/sha256sum-amd64.txt"):
		sum := sha256.Sum256(release)
		fmt.Fprintf(w, "%s  rke2.linux-amd64.tar.gz\n", hex.EncodeToString(sum[:]))
	default:
		return false
	}
	return true
}

// playCluster runs the demo of a Kubernetes cluster.
func (d *demo) playCluster(ctx context.Context) error {
	info := d.sim.Describe()
	d.folder = filepath.Join(filepath.Dir(d.folder), "cluster")
	if err := d.edit("cluster.yaml", `version: "1.30"`, fmt.Sprintf("version: \"1.30\"\n  source: %s\n  channels: %[1]s/channels", d.serves)); err != nil {
		return err
	}
	if err := d.edit("cluster.yaml", "vip: 192.168.1.200", "vip: 192.168.77.20\n  image: {url: "+d.serves+"/jammy.img}"); err != nil {
		return err
	}
	d.say("A Proxmox VE %s cluster with the nodes %s, simulated in this process.", d.sim.Release(), strings.Join(info.Nodes, ", "))
	d.say("What is wanted is in examples/cluster: a Kubernetes cluster with a control plane and two workers.\n")
	for _, step := range []func(context.Context) error{
		d.types("cluster", "init", "--config", clusterFile),
		d.types("cluster", "status", "--cluster", "lab"),
		d.types("cluster", "validate", "--cluster", "lab"),
		d.types("cluster", "scale", "worker=3", "--cluster", "lab"),
		d.types("cluster", "destroy", "--cluster", "lab", "--force", "--cleanup"),
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if left := d.sim.Describe().Guests - info.Guests; left != 0 {
		return fmt.Errorf("%d guests were left behind", left)
	}
	d.say("That took %.0f s and %d requests. Nothing was left behind.", time.Since(d.began).Seconds(), d.sim.RequestCount())
	d.say("Your own cluster is next: proxplane cluster init --generate-config > cluster.yaml")
	return nil
}
