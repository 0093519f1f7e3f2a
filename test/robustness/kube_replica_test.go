package robustness

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/operator"
	"github.com/proxplane/proxplane/test/kit/kubesim"
	"github.com/proxplane/proxplane/test/kit/steps"
)

// replica is an operator: all that it knows is lost when it crashes.
type replica struct {
	kube  *kube
	name  string
	wire  *wire         // to Proxmox
	line  *kubesim.Line // to Kubernetes
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{}
	since time.Time
	steps steps.Running // what it says that it does
}

// ourCluster is the name that operators are started with; they may be started with
// others by mistake.
const ourCluster = "prod"

// start starts an operator that is started again whenever it crashes. The name of the
// cluster is for its first life.
func (k *kube) start(cluster string) *replica {
	k.run.mu.Lock()
	if k.run.ending || k.stopped {
		k.run.mu.Unlock()
		return nil
	}
	k.born++
	p := &replica{kube: k, name: fmt.Sprintf("operator#%d", k.born), ended: make(chan struct{}), since: time.Now()}
	k.replicas, k.all = append(k.replicas, p), append(k.all, p)
	k.run.aside.Add(1)
	k.run.mu.Unlock()
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.wire, p.line = k.run.newWire(p.name, true), k.api.Connect()
	p.wire.crash = p.crash
	k.run.trace.say(p.name, "starts as %s", cluster)
	go func() {
		defer close(p.ended)
		err := operator.Run(p.ctx, operator.Config{
			Kubernetes: &rest.Config{Host: "https://kubernetes", Transport: p.line, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, QPS: 1000, Burst: 1000},
			Cluster:    cluster, Election: &operator.Election{Namespace: "kube-system"},
			Logger:   slog.New(slog.NewJSONHandler(k.run, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Registry: prometheus.NewRegistry(), Proxmox: p.wire, Web: internet{}, Events: p.tell,
		})
		k.run.trace.say(p.name, "ended: %v", err)
		p.wire.cut()
		p.line.Cut()
		p.stop()
	}()
	go func() {
		defer k.run.aside.Done()
		<-p.ended
		k.run.mu.Lock()
		ending := k.run.ending || k.stopped
		for i, q := range k.replicas {
			if q == p {
				k.replicas = append(k.replicas[:i:i], k.replicas[i+1:]...)
				break
			}
		}
		n := len(k.replicas)
		k.run.mu.Unlock()
		if !ending && n == 0 {
			time.Sleep(newDice(k.run.h.seed, "again "+p.name).between(0, 20*time.Second))
			k.start(ourCluster)
		}
	}()
	return p
}

// tell notes what the operator does. What becomes of it after a crash, nobody hears.
func (p *replica) tell(e engine.Event) {
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	if !p.wire.dead {
		p.steps.Event(e)
	}
}

// crash ends the operator at once: nothing that it does afterwards gets out.
func (p *replica) crash() {
	p.kube.run.trace.say(p.name, "crashes")
	p.wire.cut()
	p.end()
}

// end ends the operator when it has read what Kubernetes has sent: the libraries leave a
// goroutine behind for what is on the way when they stop. While it starts, it isn't
// stopped: the manager waits in a busy loop then, which stops virtual time.
func (p *replica) end() {
	const starting = 2 * time.Second
	time.AfterFunc(starting-min(time.Since(p.since), starting), func() {
		p.line.Cut()
		time.AfterFunc(10*time.Millisecond, p.stop)
	})
}

// crash lets an operator crash at one of its next requests.
func (k *kube) crash(i, requests int, at moment) {
	list := k.living()
	if len(list) == 0 {
		return
	}
	w := list[i%len(list)].wire
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crashIn, w.crashAt = requests, at
}

// living are the operators now.
func (k *kube) living() []*replica {
	k.run.mu.Lock()
	defer k.run.mu.Unlock()
	return append([]*replica(nil), k.replicas...)
}

// stopAll ends all operators.
func (k *kube) stopAll() {
	for _, p := range k.living() {
		p.end()
	}
}

// renamed has the operators be restarted with another name of the cluster, for a while.
func (k *kube) renamed(cluster string, d time.Duration) {
	old := k.living()
	p := k.start(cluster)
	for _, q := range old {
		q.crash()
	}
	k.run.later(d, func() {
		if p != nil {
			p.crash()
		}
	})
}

// company runs another replica for a while.
func (k *kube) company(d time.Duration) {
	p := k.start(ourCluster)
	k.run.later(d, func() {
		if p != nil && len(k.living()) > 1 {
			p.crash()
		}
	})
}
