package outside_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// havoc is a story in which whatever the operator needs is killed.
type havoc struct {
	*kubernetes
	dice    *rand.Rand
	made    int             // machines that were ever asked for
	wanted  map[string]bool // that are asked for now
	victims []string        // that are killed next, in this order
}

// TestTheOperatorOutlivesWhateverIsKilled has machines made and deleted, and kills
// the operator that leads, the API server, etcd and the simulated Proxmox meanwhile,
// when Proxmox has answered so many requests. Afterwards there is one machine for
// each wish, all are Ready, and nothing of others was touched.
func TestTheOperatorOutlivesWhateverIsKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	h := &havoc{
		kubernetes: newKubernetes(labUntil(ctx, t)),
		dice:       rand.New(rand.NewPCG(*seed, 2)), wanted: map[string]bool{},
	}
	h.provide(fmt.Sprintf("{token_id: %q, token_secret: %q}", tokenID, tokenSecret))
	h.kubectl(havocClass, "apply", "-f", "-")
	h.replicate(2)

	machines, moments := max(12, *kills), max(6, *kills/4)
	rising := moments * 2 / 3
	for moment := range rising {
		created, deleted := machines*(moment+1)/rising-h.made, 0
		h.create(created)
		if moment > 0 {
			deleted = machines / 2 / rising
			h.delete(deleted)
		}
		h.kill(created + deleted)
	}
	h.converges()
	h.staysQuiet()
	for moment := range moments - rising {
		left := moments - rising - moment
		deleted := (len(h.wanted) + left - 1) / left
		h.delete(deleted)
		h.kill(deleted)
	}
	h.converges()
	if len(h.wanted) > 0 || h.made != machines {
		t.Errorf("%d machines were made, and %d are still wanted", h.made, len(h.wanted))
	}
}

const havocClass = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 512Mi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
`

// kindsOfMachines leave different things in Proxmox.
var kindsOfMachines = []string{
	`networks: [{name: lan}]`,
	`disks: [{name: root, size: 10Gi}, {name: data, size: 1Gi}]`,
	`ha: {maxRestart: 2}`,
	`userData: {cloudInit: {inline: "#cloud-config\npackages: [nginx]\n"}}`,
	`powerState: "Off"`,
}

// create asks for more machines.
func (h *havoc) create(n int) {
	h.t.Helper()
	var text strings.Builder
	for range n {
		name := fmt.Sprintf("m-%d", h.made)
		fmt.Fprintf(&text, "---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: VirtualMachine\nmetadata: {name: %s}\nspec:\n  classRef: {name: small}\n  imageRef: {name: ubuntu}\n  %s\n",
			name, kindsOfMachines[h.made%len(kindsOfMachines)])
		h.made++
		h.wanted[name] = true
	}
	h.kubectl(text.String(), "apply", "-f", "-")
}

// delete gives some up, whatever has become of them.
func (h *havoc) delete(n int) {
	h.t.Helper()
	args := []string{"delete", "virtualmachine", "--wait=false", "--ignore-not-found"}
	for range min(n, len(h.wanted)) {
		names := slices.Sorted(maps.Keys(h.wanted))
		name := names[h.dice.IntN(len(names))]
		delete(h.wanted, name)
		args = append(args, name)
	}
	h.kubectl("", args...)
}

// kill kills one or two of those whom the operator needs while so many changes are
// made, and has them back.
func (h *havoc) kill(changes int) {
	h.t.Helper()
	if len(h.victims) < 2 {
		all := []string{"leader", "API server", "etcd", "Proxmox"}
		h.dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		h.victims = append(h.victims, all...)
	}
	const each = 4 // requests at least, for whatever is changed
	n, after := 1+h.dice.IntN(2), 1+h.dice.IntN(each*changes)
	dead := slices.Compact(slices.Clone(h.victims[:n]))
	h.victims = h.victims[n:]
	before, err := h.sim.Count(h.ctx)
	h.must(err)
	h.must(h.sim.Await(h.ctx, before+after))
	if slices.Contains(dead, "leader") { // first: without the others nobody gets to lead
		h.leader().Kill()
	}
	for _, who := range dead {
		switch who {
		case "API server":
			h.plane.KillAPI()
		case "etcd":
			h.plane.KillEtcd()
		case "Proxmox":
			h.sim.Kill()
		}
	}
	h.t.Logf("seed %d: killed %s after %d more requests; %d machines are wanted, of %d", *seed, strings.Join(dead, " and "), after, len(h.wanted), h.made)
	if slices.Contains(dead, "etcd") {
		h.must(h.plane.StartEtcd())
	}
	if slices.Contains(dead, "Proxmox") {
		h.must(h.sim.Restart(h.ctx))
	}
	if slices.Contains(dead, "API server") {
		h.must(h.plane.StartAPI(h.ctx))
	}
}

// converges waits until all is up to date, and looks at what has become of Proxmox.
func (h *havoc) converges() {
	h.t.Helper()
	begun := time.Now()
	h.nowAndThen(fmt.Sprintf("there are %d machines, all Ready", len(h.wanted)), func() bool {
		list := h.machines()
		unlock := func(m api.VirtualMachine) bool { return strings.Contains(m.Status.Waiting, "qm unlock") }
		if s := h.state(); slices.ContainsFunc(list, unlock) && !hasTask(s, (*pvesim.TaskInfo).Running) {
			if n := h.repair(s); n > 0 {
				h.t.Logf("an administrator has removed %d locks that the crash had left", n)
			}
		}
		return len(list) == len(h.wanted) && !slices.ContainsFunc(list, func(m api.VirtualMachine) bool {
			return !h.wanted[m.Name] || !meta.IsStatusConditionTrue(m.Status.Conditions, "Ready")
		})
	})
	h.t.Logf("%d machines are up to date after another %s", len(h.wanted), time.Since(begun).Round(time.Second))
	var owners []model.Owner
	for name := range h.wanted {
		owners = append(owners, model.Owner{Door: manifest.Door, Set: theirCluster, Key: model.Key{Kind: "VirtualMachine", Namespace: namespace, Name: name}})
	}
	s := h.quiet()
	for _, wrong := range slices.Concat(h.before.Wishes(s, owners...), h.before.Left(s), h.before.Touched(s), h.before.Written(h.requests())) {
		h.t.Error(wrong)
	}
}

// staysQuiet checks that the operator finds nothing more to do when all is as
// wanted and it looks again, which it does by itself.
func (h *havoc) staysQuiet() {
	h.t.Helper()
	begun, err := h.sim.Count(h.ctx)
	h.must(err)
	h.nowAndThen("the operator looks again", func() bool {
		list, err := h.sim.Requests(h.ctx, begun)
		h.must(err)
		looked := false
		for _, r := range list {
			if r.Method != "GET" {
				h.t.Errorf("all was up to date, and then came %s %s", r.Method, r.URL)
			}
			looked = looked || strings.Contains(r.URL, "/cluster/resources")
		}
		return looked || h.t.Failed()
	})
}
