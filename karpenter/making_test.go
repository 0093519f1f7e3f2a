package karpenter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

// begin creates the machine of a NodeClaim, and has Kubernetes know as much of it as Karpenter then says.
func (l *lab) begin(name string) *v1.NodeClaim {
	l.t.Helper()
	c := l.claim(name)
	made, err := l.Create(l.t.Context(), c)
	if err != nil {
		l.t.Fatal(err)
	}
	l.launched(c, made)
	return c
}

// await reconciles NodeClaims until something is so.
func (l *lab) await(what string, holds func() bool, claims ...string) {
	l.t.Helper()
	k := &keeper{client: l.client, provider: l.CloudProvider}
	for range 120 {
		for _, c := range claims {
			if _, err := k.Reconcile(l.t.Context(), request(c)); err != nil {
				l.t.Fatal(err)
			}
		}
		if holds() {
			return
		}
		time.Sleep(time.Second) // virtual
	}
	l.t.Fatalf("%s: never", what)
}

func (l *lab) isThere(name string) bool {
	l.t.Helper()
	err := l.client.Get(l.t.Context(), types.NamespacedName{Name: name}, &v1.NodeClaim{})
	if err != nil && !apierrors.IsNotFound(err) {
		l.t.Fatal(err)
	}
	return err == nil
}

// Karpenter does nothing for any NodePool while a NodeClaim has no provider ID, so that is known long before the machine runs.
func TestAMachineIsLaunchedBeforeItRuns(t *testing.T) {
	w := labWorld()
	w.Timing.Clone = pvesim.Duration(3 * time.Minute)
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.settle()
		begun := time.Now()
		c := l.begin("node-1")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %v until the machine was begun", took)
		}
		// What takes long isn't given up, however often it is looked at.
		id := vmidOf(t, c)
		k := &keeper{client: l.client, provider: l.CloudProvider}
		for range 2 {
			if _, err := k.Reconcile(t.Context(), request(c.Name)); err != nil || !l.isThere(c.Name) {
				t.Fatalf("the NodeClaim is gone, or %v", err)
			}
			time.Sleep(time.Minute)
		}
		if len(l.reserved) != 1 {
			t.Errorf("what it takes isn't counted: %v", l.reserved)
		}
		out, err := l.regions.all["lab"].Site.Await(t.Context(), l.ownerOf(c), site.Running)
		if err != nil || out.VMID != id {
			t.Fatalf("VM %d, %v", out.VMID, err)
		}
		// One that goes while it is being made leaves nothing.
		c = l.begin("node-2")
		l.gone(c)
		if n := l.guests(); n != 1 {
			t.Errorf("there are %d machines", n)
		}
	})
}

// What a process has begun, the next one finishes, as the same machine.
func TestTheNextProcessGoesOnWithAMachine(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 2100 * time.Millisecond, 2500 * time.Millisecond, 4 * time.Second} {
		inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
			l.settle()
			c := l.begin("node-1")
			time.Sleep(after)
			at := l.regions.all["lab"].Site
			at.Forget(l.ownerOf(c))
			l.await("it runs", func() bool {
				conf := l.config(vmidOf(t, c))
				running := false
				l.sim.Do(func(s *pvesim.State) { running = conf != nil && s.VMs[vmidOf(t, c)].Run != nil })
				return running
			}, c.Name)
			if n := l.guests(); n != 1 || !l.isThere(c.Name) {
				t.Errorf("after %v there are %d machines", after, n)
			}
			l.initialized(c)
		})
	}
}

// A machine that can't be made after all goes with its NodeClaim, its zone is left alone, and people are told.
func TestAMachineThatFailsLaterIsReplaced(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmstart", Error: "KVM virtualisation configured, but not available."}); err != nil {
			t.Fatal(err)
		}
		c := l.begin("node-1")
		l.await("the NodeClaim goes", func() bool { return !l.isThere(c.Name) }, c.Name)
		if why := l.backoff.why(zone{region: "lab", node: c.Labels["topology.kubernetes.io/zone"]}, "c1.2VCPU-4GB", "default"); !strings.Contains(why, "KVM virtualisation") {
			t.Errorf("the zone is said to be left alone because of %q", why)
		}
		l.gone(c)
		if n := l.guests(); n != 0 || len(l.reserved) != 0 {
			t.Errorf("%d machines and %v are left", n, l.reserved)
		}
	})
}

// Proxmox refuses a step to this login: the zone is left alone, and one sentence says for all sizes why.
func TestAPrivilegeThatIsMissingIsSaid(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/pve1/qemu/9000/clone", Status: 403}); err != nil {
			t.Fatal(err)
		}
		_, err := l.Create(t.Context(), l.claim("node-1", zoneIs("pve1")))
		if !cloudprovider.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "Forbidden") || !strings.HasSuffix(err.Error(), "the zone is tried again in 1m0s") {
			t.Errorf("got %v", err)
		}
		_, err = l.Create(t.Context(), l.claim("node-2", zoneIs("pve1")))
		if !cloudprovider.IsInsufficientCapacityError(err) || strings.Count(err.Error(), "Forbidden") != 1 || !strings.Contains(err.Error(), "lab/pve1 for c1.2VCPU-4GB and 12 other sizes: ") {
			t.Errorf("got %v", err)
		}
		if c := l.create(l.claim("node-3")); c.Labels["topology.kubernetes.io/zone"] != "pve2" || l.guests() != 1 {
			t.Errorf("the next one is on %v, and there are %d machines", c.Labels, l.guests())
		}
	})
}

// A clone that hangs holds up its NodeClaim, which Karpenter gives up after a while: what it waits for is said, and nothing is left once the clone has ended.
func TestACloneThatHangsIsSaid(t *testing.T) {
	w := labWorld()
	w.Timing.Clone = pvesim.Duration(2 * time.Hour)
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		recorder := events.NewFakeRecorder(10000)
		l.events = teller{recorder}
		l.settle()
		c := l.begin("node-1")
		time.Sleep(joinTime)
		for range 60 {
			if err := l.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		said := ""
		for len(recorder.Events) > 0 {
			said += <-recorder.Events + "\n"
		}
		if !strings.Contains(said, "Warning NotRemoved VM ") || !strings.Contains(said, "clone") {
			t.Errorf("nobody says what it waits for: %s", said)
		}
		time.Sleep(2 * time.Hour)
		l.gone(c)
		if n := l.guests(); n != 0 {
			t.Errorf("%d machines are left", n)
		}
	})
}

// Somebody else takes the VMID between the moment when it was chosen and the clone: theirs stays, and the NodeClaim, whose provider ID is theirs now,
// is replaced.
func TestAMachineWhoseVMIDIsTakenIsReplaced(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmclone", Error: "can't lock file '/var/lock/qemu-server/lock-9000.conf' - got timeout", Times: 1}); err != nil {
			t.Fatal(err)
		}
		c := l.begin("node-1")
		id := vmidOf(t, c)
		for taken := false; !taken; time.Sleep(100 * time.Millisecond) {
			taken = l.regions.all["lab"].Site.Client().Call(t.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": id, "name": "foreign", "memory": 512}, nil) == nil
		}
		l.await("the NodeClaim goes", func() bool { return !l.isThere(c.Name) }, c.Name)
		l.gone(c)
		if conf := l.config(id); l.guests() != 1 || conf["name"] != "foreign" {
			t.Errorf("there are %d machines, and VM %d is %v", l.guests(), id, conf)
		}
	})
}

// Karpenter deletes a NodeClaim that isn't launched in time, and calls nobody then: no machine is made for it afterwards.
func TestANodeClaimThatGoesBeforeItIsLaunchedGetsNoMachine(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		time.Sleep(time.Minute) // so that the lists have to be read again
		slow, err := l.sim.AddFault(pvesim.Fault{Path: "/**", Delay: pvesim.Duration(50 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		c := l.claim("node-1")
		if _, err := l.Create(t.Context(), c); err == nil || cloudprovider.IsInsufficientCapacityError(err) {
			t.Fatalf("a machine was begun, or given up: %v", err)
		}
		if err := l.client.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		l.sim.RemoveFault(slow)
		k := &keeper{client: l.client, provider: l.CloudProvider}
		for range 60 {
			if _, err := k.Reconcile(t.Context(), request(c.Name)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		if n := l.clones(); n != 0 {
			t.Errorf("%d machines were made for nobody, %d are there", n, l.guests())
		}
		if len(l.reserved) > 0 {
			t.Errorf("what it would have taken is counted: %v", l.reserved)
		}
	})
}

// A class whose machines never become nodes makes fewer and fewer of them, and says why; one that joins ends that.
func TestAClassWhoseMachinesNeverJoinSlowsDown(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		recorder := events.NewFakeRecorder(1000)
		l.events = teller{recorder}
		l.settle()
		for i, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			c := l.create(l.claim(fmt.Sprintf("node-%d", i)))
			time.Sleep(joinTime)
			l.gone(c)
			if l.offered("pve1")+l.offered("pve2") > 0 {
				t.Fatal("machines are promised that won't join")
			}
			if _, err := l.Create(t.Context(), l.claim(fmt.Sprintf("late-%d", i))); !cloudprovider.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "didn't become a node within 15m0s") {
				t.Errorf("got %v", err)
			}
			said := ""
			for len(recorder.Events) > 0 {
				said += <-recorder.Events + "\n"
			}
			if !strings.Contains(said, "Warning NotJoined VM ") || !strings.Contains(said, "is made in "+pause.String()) {
				t.Errorf("it is said: %s", said)
			}
			time.Sleep(pause)
			if l.offered("pve1") == 0 {
				t.Errorf("nothing is made after %v", pause)
			}
		}
		l.initialized(l.create(l.claim("good")))
		l.backoff.unjoined("default", "again")
		if l.backoff.zones[classKey("default")].times != 1 {
			t.Error("a machine that has joined doesn't count")
		}
	})
}

// Where a machine is made is written down before it is begun, and the next process makes it there: what the first one has begun can't be seen yet.
func TestAMachineIsMadeWhereItWasToBe(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		for _, zone := range []string{"pve1", "pve2"} {
			c := l.claim("on-" + zone)
			at, err := l.choose(t.Context(), l.claim("chosen-"+zone, zoneIs(zone)), l.class())
			if err != nil {
				t.Fatal(err)
			}
			what, err := l.made(t.Context(), l.class(), at)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.remember(t.Context(), c, what); err != nil {
				t.Fatal(err)
			}
			if err := l.client.Get(t.Context(), request(c.Name).NamespacedName, c); err != nil {
				t.Fatal(err)
			}
			if made, err := l.Create(t.Context(), c); err != nil || made.Labels["topology.kubernetes.io/zone"] != zone {
				t.Errorf("it was to be on %s: %+v, %v", zone, made, err)
			}
		}
	})
}

// clones counts the machines that Proxmox was asked for.
func (l *lab) clones() (n int) {
	for _, r := range l.sim.Requests(0) {
		if r.Method == "POST" && strings.HasSuffix(r.URL, "/clone") {
			n++
		}
	}
	return n
}

// A guest agent that never answers keeps no node from joining, and nothing of the join is left: only the addresses of the machine aren't known.
func TestANodeWhoseAgentNeverAnswersJoins(t *testing.T) {
	inLab(t, unmanagedWith(map[string]string{"agent": "enabled=1"}), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1"))
		time.Sleep(5 * time.Minute)
		is, err := (&machines{client: l.client, provider: l.CloudProvider}).ByNode(t.Context(), c.Name)
		if err != nil || is == nil || len(is.Addresses) > 0 {
			t.Errorf("the machine is %+v, %v", is, err)
		}
		l.initialized(c)
		time.Sleep(2 * time.Minute)
		conf := l.config(vmidOf(t, c))
		if conf == nil || strings.Contains(conf["ide0"]+conf["ide2"], "proxplane-") {
			t.Errorf("its first-boot data are left: %v", conf)
		}
		if reason, err := l.IsDrifted(t.Context(), c); err != nil || reason != "" || !l.isThere(c.Name) {
			t.Errorf("drifted: %q, %v", reason, err)
		}
	})
}
