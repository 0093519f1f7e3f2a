package pvesim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/pve/schema"
)

// Sim is a simulated Proxmox VE cluster.
type Sim struct {
	world    *World
	schema   *schema.Schema
	clock    *shiftClock
	seed     uint64
	routes   map[string]handler
	internet http.RoundTripper // nil: the network
	machines Machines          // nil: guests are simulated

	mu      sync.Mutex // guards all below; see actor
	state   *State
	locks   map[string]*fileLock
	byUPID  map[string]*TaskInfo
	running map[string]*task
	faults  faultSet
	log     requestLog
	blobs   blobStore
	keys    authKeys
	disk    persistence
	round   *statusRound             // nil: figures are always fresh
	certs   map[string]string        // fingerprints of the certificates in use, by node
	doors   map[int]*door            // consoles, by port
	making  map[string]chan struct{} // disks that are being made, closed when done
	haNew   map[string]bool          // resources that the HA manager hasn't taken up yet

	index    *guestIndex // nil: to be made anew
	nextFree freeHint

	workers sync.WaitGroup
	closed  chan struct{}
	closing sync.Once
}

// Option changes how a simulator runs.
type Option func(*simSettings)

type simSettings struct {
	clock   Clock
	seed    uint64
	dataDir string
	log     io.Writer

	internet http.RoundTripper
	machines Machines
}

// WithClock injects the time. The default is the time package's, which is
// virtual under testing/synctest.
func WithClock(c Clock) Option { return func(o *simSettings) { o.clock = c } }

// WithSeed chooses MACs, UUIDs and what else is random; equal seeds give
// equal values. It also decides which requests faults hit.
func WithSeed(seed uint64) Option { return func(o *simSettings) { o.seed = seed } }

// WithData keeps the state in a directory across restarts.
func WithData(dir string) Option { return func(o *simSettings) { o.dataDir = dir } }

// New makes a simulator of the world; nil is the default world.
func New(w *World, opts ...Option) (*Sim, error) {
	set := simSettings{clock: realClock{}, seed: 1}
	for _, o := range opts {
		o(&set)
	}
	if w == nil {
		w = DefaultWorld()
	}
	w = w.WithDefaults()
	if !slices.Contains(schema.Releases(), w.Release) {
		return nil, fmt.Errorf("world: there is no release %q, only %s", w.Release, strings.Join(schema.Releases(), " and "))
	}
	sch, err := schema.Load(w.Release)
	if err != nil {
		return nil, err
	}
	s := &Sim{
		world: w, schema: sch, clock: newShiftClock(set.clock), seed: set.seed, routes: allRoutes(),
		locks: map[string]*fileLock{}, byUPID: map[string]*TaskInfo{}, running: map[string]*task{}, making: map[string]chan struct{}{}, haNew: map[string]bool{}, doors: map[int]*door{},
		closed: make(chan struct{}),
	}
	if err := s.checkWorld(w); err != nil {
		return nil, err
	}
	s.log.out, s.internet, s.machines = set.log, set.internet, set.machines
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(set.dataDir); err != nil {
		return nil, err
	}
	return s, nil
}

// start fills the state, from disk when there is one or else from the world.
func (s *Sim) start(dataDir string) error {
	s.keys = newAuthKeys(s.seed)
	if err := s.faults.init(s.world.Faults); err != nil {
		return err
	}
	s.blobs.init(dataDir)
	s.state = newState()
	loaded, err := s.disk.open(s, dataDir)
	if err != nil {
		return fmt.Errorf("state in %s: %w", dataDir, err)
	}
	if !loaded {
		if err := s.build(s.world); err != nil {
			return fmt.Errorf("world: %w", err)
		}
	}
	if loaded {
		s.indexState()
		for sid := range s.state.HA.Resources {
			s.haActs(sid) // the manager begins where it was
		}
	}
	s.startStatusRounds()
	return s.keepDisks()
}

// indexState makes what isn't kept on disk.
func (s *Sim) indexState() {
	for _, list := range s.state.Tasks {
		for _, t := range list {
			s.byUPID[t.UPID] = t
		}
	}
	for _, sp := range s.state.Spaces {
		for _, v := range sp.Volumes {
			sp.index(v)
		}
	}
}

// Do runs fn on the state, alone. fn must not keep what it gets.
func (s *Sim) Do(fn func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.state)
	s.accessReplaced()
	s.guestsReplaced()
	s.dirty()
}

// Close ends all tasks and guests, and writes the state if it is kept.
func (s *Sim) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		s.workers.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		err = s.disk.close(s)
		if s.machines != nil {
			err = errors.Join(err, s.machines.Close())
		}
		s.blobs.close()
	})
	return err
}

// Release returns the Proxmox release being simulated: "9.2", "8.4".
func (s *Sim) Release() string { return s.world.Release }

// atLeast reports whether the simulated release has a feature that came with
// the given major version.
func (s *Sim) atLeast(major int) bool { //nolint:unparam // what came with 9 won't be all
	number, _, _ := strings.Cut(s.world.Release, ".")
	have, err := strconv.Atoi(number)
	return err == nil && have >= major
}

// serial counts up, a row of numbers for each name.
func (s *Sim) serial(name string) uint64 {
	s.state.Serial[name]++
	return s.state.Serial[name]
}

// random gives bytes that depend on the seed and the words only, and on how
// often it was asked for the same words.
func (s *Sim) random(words ...string) []byte {
	key := strings.Join(words, "\x00")
	n := s.serial("random/" + key)
	var head [16]byte
	binary.BigEndian.PutUint64(head[:8], s.seed)
	binary.BigEndian.PutUint64(head[8:], n)
	sum := sha256.Sum256(append(head[:], key...))
	return sum[:]
}

// uuid makes a random UUID.
func (s *Sim) uuid(words ...string) string {
	b := s.random(append([]string{"uuid"}, words...)...)[:16]
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// mac makes a random MAC address with the cluster's prefix.
func (s *Sim) mac(words ...string) string {
	prefix := s.state.Options["mac_prefix"]
	if prefix == "" {
		prefix = macPrefix
	}
	b := s.random(append([]string{"mac"}, words...)...)
	out := strings.ToUpper(prefix)
	for i := 0; strings.Count(out, ":") < 5; i++ {
		out += fmt.Sprintf(":%02X", b[i])
	}
	return out
}

// qemuVersion is the QEMU that comes with the release.
func (s *Sim) qemuVersion() string {
	if s.atLeast(9) {
		return "11.0.0"
	}
	return "9.2.0"
}
