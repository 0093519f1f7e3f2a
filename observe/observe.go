// Package observe reads Proxmox into a [model.Observed] that many share.
//
// One list of the cluster and one of its running tasks serve all callers, however many
// guests there are. Other facts (configs, snapshots, addresses) are read per guest when
// they are needed, and cached until the lists show that they may have changed.
//
// The lists have two speeds. Which guests there are, on which node, their tags and their
// locks come from the configs and are fresh. Names, power states and figures come from a
// round that each node makes every ten seconds. So facts that were read directly, or
// changed by us, take precedence over the list for a while.
package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Observer observes one cluster. It is safe for concurrent use; all who work on the same
// cluster should share one.
type Observer struct {
	client *pve.Client
	agents *agents
	web    *imagefile.Web
	keys   model.Keys
	powers sync.Map // *nodePower by node

	identifies bool   // see Identifying
	expects    string // what the cluster is to be known by
	loads      *Loads // see Sharing
	among      string

	mu         sync.RWMutex
	identity   string // what the cluster is known by
	refused    string // what one is known by that wasn't expected
	identified bool   // since it was last out of reach

	have        model.Observed
	records     map[int]*record
	gone        map[int]time.Time     // when guests that we destroyed went
	ids         map[int]checkedID     // VMIDs that no list shows
	places      map[place]bool        // where the files were looked for
	filesLate   time.Time             // until when a request may bring a file whose answer was lost, see flight.go
	fetching    map[string]bool       // tasks that fetched files of ours when the last list was made
	inventories map[place]inventory   // which disks were where, see volumes.go
	rooms       map[place]*model.Room // of storages that nodes were asked for; nil: they don't have it
	factsAt     time.Time             // when facts were read first, see facts.go
	tasks       map[string]bool       // those that the last list showed, running or ended
	ours        map[string]*ownTask
	lefts       map[string]*leftBy // by task, see left.go
	guestDisks  leftover.Guests
	elder       []string // nodes that are to be asked for tasks which are too old for the list
	created     time.Time
	begun       time.Time // when the last list was asked for
	asked       int       // number of the last list that was asked for
	merged      int       // and of the last that was taken over
	looking     *looking  // the list that is being asked for
}

// looking is a list that is under way, for all who wait for it.
type looking struct {
	n     int
	begun time.Time
	done  chan struct{}
	err   error
}

// lag is how old the figures of the list may be: the round takes ten seconds,
// and needs a moment itself.
const lag = 12 * time.Second

// New returns an Observer. It sends no request yet.
func New(client *pve.Client) *Observer {
	o := &Observer{
		client: client, web: imagefile.New(nil), records: map[int]*record{}, gone: map[int]time.Time{}, ids: map[int]checkedID{},
		tasks: map[string]bool{}, ours: map[string]*ownTask{}, created: time.Now(),
	}
	o.agents = newAgents(o)
	o.have.IDs = map[int]bool{}
	o.have.Index()
	return o
}

// Answered reports whether Proxmox has answered at least once.
func (o *Observer) Answered() bool { return o.client.Answered() }

// Verifying makes the observer verify the signatures of markers.
func (o *Observer) Verifying(keys model.Keys) *Observer {
	o.keys, o.have.Keyed = keys, len(keys) > 0
	return o
}

// Look reads the lists and returns a copy of everything that is known.
func (o *Observer) Look(ctx context.Context) (*model.Observed, error) {
	if err := o.Refresh(ctx, 0); err != nil {
		return nil, err
	}
	return o.Snapshot(), nil
}

// Snapshot returns a copy of everything that is known. It sends no request.
func (o *Observer) Snapshot() *model.Observed {
	o.mu.RLock()
	defer o.mu.RUnlock()
	have := o.have
	have.At = time.Now()
	o.viewLeft(&have)
	have.Nodes, have.Storages = maps.Clone(have.Nodes), maps.Clone(have.Storages)
	have.Guests, have.Files = maps.Clone(have.Guests), maps.Clone(have.Files)
	have.Snippets = maps.Clone(have.Snippets)
	have.Tasks = slices.Clone(have.Tasks)
	have.Index()
	return &have
}

// View calls fn with everything that is known, without a copy. Nothing changes while fn
// runs. fn must not keep anything except guests, which are never modified.
func (o *Observer) View(fn func(have *model.Observed)) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	have := o.have
	have.At = time.Now()
	o.viewLeft(&have)
	fn(&have)
}

// Refresh makes sure that the lists are no older than age: 0 reads them again. Concurrent
// callers share the answer.
func (o *Observer) Refresh(ctx context.Context, age time.Duration) error {
	o.mu.Lock()
	need := o.asked + 1
	if age > 0 && o.merged > 0 && time.Since(o.begun) <= age {
		need = o.merged
	}
	o.mu.Unlock()
	for {
		o.mu.Lock()
		if o.merged >= need {
			o.mu.Unlock()
			return nil
		}
		l := o.looking
		mine := l == nil
		if mine {
			o.asked++
			l = &looking{n: o.asked, begun: time.Now(), done: make(chan struct{})}
			o.looking = l
		}
		o.mu.Unlock()
		if mine {
			o.look(ctx, l)
			return l.err
		}
		select {
		case <-l.done:
			// It may have begun too early for us, or failed for a reason of its
			// caller's: then it is our turn.
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// look asks for both lists, and for the version when it isn't known.
func (o *Observer) look(ctx context.Context, l *looking) {
	var (
		all      sync.WaitGroup
		list     []pve.Resource
		tasks    []pve.TaskInfo
		listErr  error
		tasksErr error
		version  error
		other    error
	)
	all.Go(func() { list, listErr = o.client.Cluster().Resources(ctx, "") })
	all.Go(func() { tasks, tasksErr = o.client.Cluster().Tasks(ctx) })
	if o.Release() == 0 {
		all.Go(func() { version = o.readVersion(ctx) })
	}
	if o.unidentified() {
		all.Go(func() { other = o.identify(ctx) })
	}
	all.Wait()
	switch {
	case listErr != nil:
		l.err = fmt.Errorf("list what the cluster has: %w", listErr)
	case tasksErr != nil:
		l.err = fmt.Errorf("list the tasks of the cluster: %w", tasksErr)
	case version != nil:
		l.err = fmt.Errorf("ask for the version: %w", version)
	case other != nil:
		l.err = other
	default:
		o.ended(ctx, tasks)
	}
	o.mu.Lock()
	o.identified = l.err == nil
	if l.err == nil {
		o.merge(l.begun, list, tasks)
		o.noticeUnclean(o.client.TokenID(), tasks)
		o.merged, o.have.Root = l.n, o.client.Root()
	}
	o.looking = nil
	o.mu.Unlock()
	close(l.done)
}

func (o *Observer) readVersion(ctx context.Context) error {
	v, err := o.client.Version(ctx)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Release, o.have.Minor = v.Major(), v.Minor()
	return nil
}

// Age returns the age of the newest lists; false: there are none yet.
func (o *Observer) Age() (time.Duration, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return time.Since(o.begun), o.merged > 0
}

// Release returns the major version of Proxmox; 0 before the first read.
func (o *Observer) Release() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.have.Release
}

// put takes over what is known of a guest now.
func (o *Observer) put(vmid int) {
	if r := o.records[vmid]; r != nil {
		o.have.Put(r.guest())
	} else {
		o.have.Drop(vmid)
	}
}
