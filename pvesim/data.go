package pvesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// persistence keeps the state in a directory: written right after each
// change, and at the end. Answers wait for it, so that a killed process has
// kept all that it said, unless the state is so large that this would slow
// requests down.
type persistence struct {
	file    string
	changes uint64        // so far
	kept    uint64        // of these are in the file
	writing bool          // a writer is on its way
	took    time.Duration // the last write
	size    int           // of it
	failed  bool          // as that did
	hurry   chan struct{} // gets a word when an answer waits
	wrote   chan struct{} // closed by the next write, made anew by it
}

// How soon a change is written: at once when an answer waits for it, and so
// that a large state is being written a tenth of the time.
const (
	writeSoon  = 10 * time.Millisecond
	writeRest  = 10
	writeLarge = 4 << 20     // bytes; what is larger isn't waited for
	writeAgain = time.Second // after a failure
)

// open reads the state from the directory, if there is one.
func (p *persistence) open(s *Sim, dir string) (loaded bool, err error) {
	if dir == "" {
		return false, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	p.file = filepath.Join(dir, "state.json")
	p.hurry, p.wrote = make(chan struct{}, 1), make(chan struct{})
	b, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	saved := savedState{State: s.state}
	if err := json.Unmarshal(b, &saved); err != nil {
		return false, fmt.Errorf("%s: %w", p.file, err)
	}
	if saved.Release != s.world.Release {
		return false, fmt.Errorf("%s is of release %s, not %s", p.file, saved.Release, s.world.Release)
	}
	if s.state.Nodes[s.world.Entry] == nil {
		return false, fmt.Errorf("%s has no node %s: it was made with another world", p.file, s.world.Entry)
	}
	// The clock may have been ahead, or have run faster than the real one.
	if ahead := saved.Now.Sub(s.now()); ahead > 0 {
		s.clock.advance(ahead)
	}
	s.interruptedTasks()
	s.resumeGuests()
	return true, nil
}

// savedState is what is in the file.
type savedState struct {
	Release string    `json:"release"`
	Now     time.Time `json:"now"` // by the simulator's clock
	State   *State    `json:"state"`
}

// interruptedTasks ends the tasks that were running when the state was
// written, as a crash of the host would.
func (s *Sim) interruptedTasks() {
	for _, list := range s.state.Tasks {
		for _, t := range list {
			if t.Running() {
				t.End, t.Exit = s.now(), "unexpected status"
			}
		}
	}
}

// dirty notes that the state has changed.
func (s *Sim) dirty() {
	p := &s.disk
	if p.file == "" {
		return
	}
	p.changes++
	if p.writing {
		return
	}
	p.writing = true
	s.workers.Add(1)
	go s.keepWriting(max(writeSoon, p.took*writeRest))
}

// awaitKept waits until all that has changed so far is in the file.
func (s *Sim) awaitKept() {
	s.mu.Lock()
	p := &s.disk
	for want := p.changes; p.kept < want && !p.failed && p.size < writeLarge; {
		wrote := p.wrote
		s.mu.Unlock()
		select {
		case p.hurry <- struct{}{}:
		default: // it has been told
		}
		select {
		case <-wrote:
		case <-s.closed: // close writes
			return
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
}

// keepWriting writes until nothing more has changed. It goes by real time:
// how often to write depends on the disk.
func (s *Sim) keepWriting(pause time.Duration) {
	defer s.workers.Done()
	p := &s.disk
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-p.hurry:
			timer.Stop()
		case <-s.closed: // close writes
			timer.Stop()
			return
		}
		start := time.Now()
		s.mu.Lock()
		changes := p.changes
		b, err := s.encodeState()
		s.mu.Unlock()
		if err == nil {
			err = p.replace(b)
		}
		s.mu.Lock()
		p.took, p.size, p.failed = time.Since(start), len(b), err != nil
		pause = max(writeSoon, p.took*writeRest)
		if err != nil { // the disk may be full for a while
			pause = writeAgain
		} else {
			p.kept = changes
		}
		close(p.wrote)
		p.wrote = make(chan struct{})
		if p.kept == p.changes {
			p.writing = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

func (s *Sim) encodeState() ([]byte, error) {
	b, err := json.Marshal(savedState{Release: s.world.Release, Now: s.now(), State: s.state})
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return b, nil
}

// replace writes a new file and puts it in the old one's place.
func (p *persistence) replace(b []byte) error {
	tmp := p.file + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(tmp, p.file); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// close writes the state for the last time; all workers have ended.
func (p *persistence) close(s *Sim) error {
	if p.file == "" {
		return nil
	}
	b, err := s.encodeState()
	if err != nil {
		return err
	}
	return p.replace(b)
}
