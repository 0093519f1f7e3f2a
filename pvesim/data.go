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

// persistence keeps the state in a directory: written a moment after each
// change, and at the end.
type persistence struct {
	file  string
	dirty bool
	timer bool
	err   error
}

// writeDelay gathers changes before they are written.
const writeDelay = time.Second

// open reads the state from the directory, if there is one.
func (p *persistence) open(s *Sim, dir string) (loaded bool, err error) {
	if dir == "" {
		return false, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	p.file = filepath.Join(dir, "state.json")
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
	s.interruptedTasks()
	s.resumeGuests()
	return true, nil
}

// savedState is what is in the file.
type savedState struct {
	Release string `json:"release"`
	State   *State `json:"state"`
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
	p.dirty = true
	if p.timer {
		return
	}
	p.timer = true
	s.later(writeDelay, func(*actor) {
		p.timer = false
		p.write(s)
	})
}

func (p *persistence) write(s *Sim) {
	if !p.dirty {
		return
	}
	p.dirty = false
	p.err = p.replace(s)
}

// replace writes a new file and puts it in the old one's place.
func (p *persistence) replace(s *Sim) error {
	b, err := json.Marshal(savedState{Release: s.world.Release, State: s.state})
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	tmp := p.file + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(tmp, p.file); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

func (p *persistence) close(s *Sim) error {
	if p.file == "" {
		return nil
	}
	p.dirty = true
	p.write(s)
	return p.err
}
