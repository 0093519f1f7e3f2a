package observe

import (
	"errors"
	"fmt"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// question asks once, and reports whether that was the last time.
func (s *agents) question(a *ask) (over bool, err error) {
	asked := time.Now()
	var list []pve.GuestInterface
	err = s.o.read(a.ctx, a.vmid, "the addresses", func(vm pve.VM) (err error) {
		list, err = vm.Agent().Interfaces(a.ctx)
		return err
	})
	now := time.Now()
	switch {
	case a.ctx.Err() != nil:
		return true, a.ctx.Err()
	case err == nil && s.answered(a, list):
		s.learn(a, asked, now)
		return true, nil
	case err == nil:
		// It is up and has no address yet: asking costs little now.
		s.later(a, now.Add(min(max(now.Sub(asked), time.Second), 5*time.Second)))
		return false, nil
	case errors.Is(err, pve.ErrNotRunning):
		s.o.Unsure(a.vmid)
		return true, nil
	case errors.Is(err, pve.ErrAgentNotConfigured), errors.Is(err, pve.ErrForbidden), errors.Is(err, pve.ErrUnauthorized), errors.Is(err, pve.ErrAgent):
		s.o.change(a.vmid, func(r *record) { r.agent = model.AgentDown })
		return true, fmt.Errorf("ask VM %d for its addresses: %w", a.vmid, err)
	}
	s.o.change(a.vmid, func(r *record) { r.agent = model.AgentDown })
	if a.since.IsZero() {
		a.since = asked
	}
	a.down = asked
	s.later(a, now.Add(again(now.Sub(a.since))))
	return false, nil
}

// answered takes over the addresses of an answer. It reports false if there are none yet;
// a guest that is gone has no more to report.
func (s *agents) answered(a *ask, list []pve.GuestInterface) bool {
	complete := true
	s.o.change(a.vmid, func(r *record) {
		var nics []model.NIC
		if r.config != nil {
			nics = r.config.NICs
		}
		r.agent, r.addresses = model.AgentUp, addressesOf(list, nics)
		r.believe(model.StatusRunning)
		complete = len(r.addresses) > 0
	})
	return complete
}

func (s *agents) later(a *ask, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.due = due
}

// learn notes how long a guest has taken that answers now.
func (s *agents) learn(a *ask, asked, answered time.Time) {
	if !a.begun {
		return
	}
	down := time.Duration(0)
	if !a.down.IsZero() {
		down = a.down.Sub(a.since)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.learn(down, asked.Sub(a.since), answered.Sub(a.since))
}
