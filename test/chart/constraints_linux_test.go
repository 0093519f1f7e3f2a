package chart

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/example"
)

const examples = "../../examples"

// However the pod is made, its program can write to the chart's volumes and nowhere else.
func TestThePodCanOnlyWriteToItsVolumes(t *testing.T) {
	plane := start(t)
	output(t, helmCommand(t.Context(), program(t, "helm"), plane, "install", "pp", chart, "-n", "proxplane", "--create-namespace"))
	p := newPod(t, plane)
	for _, j := range jailers() {
		p.jailer = j
		if out, err := p.command(t, "--version").CombinedOutput(); err != nil {
			t.Logf("it can't run %s: %v\n%s", j.name, err, out)
			continue
		}
		output(t, p.command(t, "man", "/tmp/man"))
		for _, folder := range []string{"/man", "/etc/man", "/var/run/man"} {
			out, err := p.command(t, "man", folder).CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("read-only file system")) && !bytes.Contains(out, []byte("permission denied")) {
				t.Errorf("%s, writing to %s: %v\n%s", j.name, folder, err, out)
			}
		}
	}
}

// The operator makes every example under the constraints of the chart, first-boot data
// included. All of them share one operator; each has a namespace and a Proxmox of its own.
func TestEveryExampleIsMadeUnderTheChartsConstraints(t *testing.T) {
	plane := start(t)
	output(t, helmCommand(t.Context(), program(t, "helm"), plane, "install", "pp", chart, "-n", "proxplane", "--create-namespace"))
	newPod(t, plane).operate(t, plane)
	folders, err := example.Folders(examples)
	if err != nil {
		t.Fatal(err)
	}
	var seeds atomic.Int64
	t.Run("examples", func(t *testing.T) {
		for _, folder := range folders {
			t.Run(filepath.Base(folder), func(t *testing.T) {
				t.Parallel()
				seeds.Add(int64(makeExample(t, plane, example.Served(t, folder))))
			})
		}
	})
	if seeds.Load() < 10 {
		t.Errorf("only %d machines have first-boot images", seeds.Load())
	}
}

// makeExample has an example made, and counts the machines with a first-boot image.
func makeExample(t *testing.T, plane *controlplane.Plane, folder string) (seeds int) {
	t.Helper()
	w, err := example.World(examples)
	if err != nil {
		t.Fatal(err)
	}
	server := serveWorld(t, w)
	namespace := filepath.Base(folder)
	output(t, plane.Kubectl(t.Context(), "create", "namespace", namespace))
	k := example.Kubectl(func(input string, args ...string) string {
		t.Helper()
		cmd := plane.Kubectl(t.Context(), append([]string{"-n", namespace}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		return output(t, cmd)
	})
	if err := k.Apply(folder); err != nil {
		t.Fatal(err)
	}
	k.PointAt(server, folder)
	k.AwaitReady(patience.String())
	server.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			for _, value := range vm.Conf {
				if strings.Contains(value, "iso/proxplane-") {
					seeds++
				}
			}
		}
	})
	return seeds
}
