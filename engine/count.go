package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
)

// count is what the others have answered about a group.
type count struct {
	at   time.Time
	away []model.Absent
}

// asking is a question to the others that isn't answered yet.
type asking struct {
	void     bool               // answers may be wrong by now
	released map[model.Key]bool // guests that came back meanwhile
}

const (
	// countFor is how long it is relied on that nothing is unavailable elsewhere.
	countFor = 5 * time.Second
	// answerPatience is how long others are waited for that are asked.
	answerPatience = 30 * time.Second
)

// elsewhere returns what is known of the guests of other parties, for each wanted group in which they have some.
func (p *Party) elsewhere(want model.Desired, now time.Time) map[string]model.Elsewhere {
	if p == nil {
		return nil
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	clear(p.seen)
	var all map[string]model.Elsewhere
	for group := range groupsOf(want) {
		others := p.others(group)
		if len(others) == 0 && p.budget.unread == nil {
			continue
		}
		if all == nil {
			all = map[string]model.Elsewhere{}
		}
		all[group] = p.count(group, others, now)
		p.seen[group] = p.budget.serials[group]
	}
	return all
}

// count combines the guests that other parties restart or replace with those that they have answered to be unavailable.
func (p *Party) count(group string, others []*Party, now time.Time) (e model.Elsewhere) {
	rolling := map[model.Key]bool{}
	for _, other := range others {
		e.Guests += len(other.guests[group])
		for key, groups := range other.rolling {
			if slices.Contains(groups, group) {
				rolling[key] = true
				e.Away = append(e.Away, model.Absent{Key: key, UnderWay: true})
			}
		}
	}
	slices.SortFunc(e.Away, func(a, b model.Absent) int { return model.CompareNames(a.Key.String(), b.Key.String()) })
	for _, key := range p.ahead(group) {
		if !rolling[key] {
			rolling[key] = true
			e.Away = append(e.Away, model.Absent{Key: key})
		}
	}
	c, counted := p.counts[group]
	age := now.Sub(c.at)
	if e.Known = counted && (age <= countFor || len(c.away) > 0 && age <= restPeriod); !e.Known {
		return e
	}
	for _, a := range c.away {
		if !rolling[a.Key] {
			e.Away = append(e.Away, a)
		}
	}
	return e
}

// questions returns questions to the other parties about some groups.
func (p *Party) questions(groups []string) (list []question) {
	for _, group := range slices.Compact(slices.Sorted(slices.Values(groups))) {
		list = append(list, question{
			name:  fmt.Sprintf("machines of %s that %s doesn't look after", group, p.name),
			begin: plainly(func(ctx context.Context) error { return p.ask(ctx, group) }),
		})
	}
	return list
}

// ask asks all other parties which of their guests of a group are unavailable.
func (p *Party) ask(ctx context.Context, group string) error {
	b := p.budget
	question := &asking{released: map[model.Key]bool{}}
	b.mu.Lock()
	others, unread := p.others(group), b.unread
	p.asking[group] = question
	b.mu.Unlock()
	var c count
	all := false
	if unread != nil {
		var err error
		if c.away, all, err = unread(ctx, group); err != nil {
			return err
		}
	}
	for _, away := range answers(ctx, others, group) {
		c.away = append(c.away, away...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(p.asking, group)
	if all {
		b.unread = nil
	}
	if !question.void {
		c.away = slices.DeleteFunc(c.away, func(a model.Absent) bool { return question.released[a.Key] })
		c.at = time.Now() // however long it took: what is begun meanwhile is noticed otherwise
		p.counts[group] = c
	}
	return context.Cause(ctx)
}

// answers asks parties concurrently, and returns the unavailable guests of each.
func answers(ctx context.Context, parties []*Party, group string) [][]model.Absent {
	list := make([][]model.Absent, len(parties))
	var all sync.WaitGroup
	for i, p := range parties {
		all.Go(func() { list[i] = p.answer(ctx, group) })
	}
	all.Wait()
	return list
}

// answer returns the party's guests of a group that are unavailable, or whose state isn't known.
func (p *Party) answer(ctx context.Context, group string) []model.Absent {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	p.budget.mu.Lock()
	r, part, attends := p.run, p.part, p.attends
	p.budget.mu.Unlock()
	if attends != nil {
		return p.attended(ctx, attends, group)
	}
	if r == nil {
		return p.unknown(group, p.name+" isn't connected")
	}
	reply := make(chan []model.Absent, 1)
	r.post(func() { r.reply(part, group, reply) })
	select {
	case away := <-reply:
		return away
	case <-r.ctx.Done():
		return p.unknown(group, p.name+" isn't connected")
	case <-ctx.Done():
		return p.unknown(group, p.name+" hasn't answered")
	}
}

// unknown returns all guests of a group that count for its limit, as guests whose state isn't known.
func (p *Party) unknown(group, why string) (away []model.Absent) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	for _, g := range p.guests[group] {
		if g.matters {
			away = append(away, model.Absent{Key: g.key, Unknown: why})
		}
	}
	return away
}
