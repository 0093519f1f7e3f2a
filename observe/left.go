package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// What a task has left is noted by the process that follows it. If that process was killed, the next
// one finds the task among those that the lists show anyway; only where a node has had more of them
// than the lists show, it is asked once for the older ones.

const (
	// leftAge is how old a task may be whose log is read. Whoever finds what is older
	// than a day may have plans for it.
	leftAge = 24 * time.Hour
	// leftPause is how long the end of a task is left to the one that follows it.
	leftPause = time.Minute
	// leftSpread keeps processes that have begun at different times from removing the
	// same at the same time.
	leftSpread = 20 * time.Second
	// leftFresh is how long nobody else can have found what a task has left that we have followed.
	leftFresh = 5 * time.Minute
	// leftTries is how often it is looked for what a task of another process has left, if that fails.
	leftTries = 3
	// leftRead is how old it may be what guests have when a removal is planned: it is read again
	// before anything is removed.
	leftRead = 30 * time.Second
	// leftMost bounds how many tasks of other processes are looked at.
	leftMost = 50
)

// leftPhase is how much is known of what a task has left.
type leftPhase int

const (
	leftFollowed leftPhase = iota // it runs, and this process follows it
	leftUnread                    // it has ended without us: its log has to be read
	leftKnown                     // it has ended, and this is what it may have left
	leftOver                      // it has left nothing, or nothing any more
)

// leftBy is what a task has left.
type leftBy struct {
	phase  leftPhase
	left   model.Left
	action model.Action // that it does, of a task of this process
	task   model.Task   // of another process
	tries  int          // that failed to find out
	since  time.Time    // when it was noted
	early  time.Time    // until then it is left to the process that has begun it
}

// Following records that this process has started a task and follows it.
func (o *Observer) Following(task string, action model.Action, owner model.Owner) {
	if !model.FactsOf(action).Leaves {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leftBy(task, &leftBy{action: action, left: model.Left{Owner: owner}})
}

func (o *Observer) leftBy(task string, l *leftBy) {
	if o.lefts == nil {
		o.lefts = map[string]*leftBy{}
	}
	l.since = time.Now()
	o.lefts[task] = l
}

// Followed records the end of a followed task. If this process was stopped before that, the
// next process finds the task in the lists.
func (o *Observer) Followed(task string, warnings []string, failure error, stopped bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lefts[task]
	switch {
	case l == nil || l.phase != leftFollowed:
	case stopped && failure != nil:
		if _, moves := l.action.(model.MoveDisk); !moves { // the list doesn't tell of those
			delete(o.lefts, task)
		}
	default:
		if o.noteLeft(l, leftover.By(l.action, task, warnings, failure)); failure == nil && len(warnings) == 0 && l.phase == leftOver {
			delete(o.lefts, task) // no list will show it as one that may have left something
		}
	}
}

// FollowedOther records the end of a task of another run or process that the owner's object waited
// for; going: its guest is to be removed.
func (o *Observer) FollowedOther(task string, owner model.Owner, going bool, warnings []string, failure error, stopped bool) {
	o.mu.Lock()
	l := o.lefts[task]
	if l == nil && going && !stopped {
		if left := leftover.ByOthers(task, warnings); left != nil {
			l = &leftBy{left: model.Left{Owner: owner}, action: model.Destroy{}}
			o.leftBy(task, l)
			o.noteLeft(l, left)
		}
	}
	o.mu.Unlock()
	o.Followed(task, warnings, failure, stopped)
}

// noteLeft notes what a task has left whose end was seen just now; nil: nothing.
func (o *Observer) noteLeft(l *leftBy, left *model.Left) {
	l.phase = leftOver
	if left != nil {
		left.Owner, left.Ended, left.Watched = l.left.Owner, o.client.Now(), !left.Moved && !left.Blocks
		l.phase, l.left, l.since = leftKnown, *left, time.Now()
	}
}

// noticeLeft records our tasks that have ended with an error or a warning, and that no run follows.
func (o *Observer) noticeLeft(tasks []model.Task) {
	for _, t := range tasks {
		now := time.Now()
		if o.lefts[t.UPID] != nil || now.Sub(t.Ended) > leftAge || o.recalled() >= leftMost {
			continue
		}
		// The clocks of nodes may be wrong, so that it isn't later than if the task had ended right now.
		ended := t.Ended
		if ended.After(now) {
			ended = now
		}
		o.leftBy(t.UPID, &leftBy{phase: leftUnread, task: t, early: ended.Add(leftPause + time.Duration(o.created.UnixNano())%leftSpread)})
	}
	for task, l := range o.lefts {
		if l.phase != leftFollowed && time.Since(l.since) > leftAge {
			delete(o.lefts, task)
		}
	}
}

// recalled counts the tasks of other processes.
func (o *Observer) recalled() (n int) {
	for _, l := range o.lefts {
		if l.action == nil {
			n++
		}
	}
	return n
}

// viewLeft shows what tasks have left.
func (o *Observer) viewLeft(have *model.Observed) {
	have.Left, have.Unclean = nil, len(o.elder) > 0
	for _, l := range o.lefts {
		switch {
		case l.phase == leftUnread && !have.At.Before(l.early):
			have.Unclean = true
		case l.phase == leftKnown:
			left := l.left
			if time.Since(l.since) > leftFresh {
				// From now on it is as if another process had begun the task.
				left.Watched, left.Owner = false, model.Owner{}
			}
			have.Left = append(have.Left, left)
		}
	}
	slices.SortFunc(have.Left, func(a, b model.Left) int { return strings.Compare(a.Task, b.Task) })
}

func (o *Observer) changeLeft(task string, fn func(*leftBy)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l := o.lefts[task]; l != nil {
		fn(l)
	}
}

// LeftRemoved records that a leftover disk was removed.
func (o *Observer) LeftRemoved(task, volume string) {
	o.changeLeft(task, func(l *leftBy) {
		if l.left.Found == nil {
			return
		}
		found := *l.left.Found
		found.There = slices.DeleteFunc(slices.Clone(found.There), func(v string) bool { return v == volume })
		l.left.Found = &found
		l.left.Volumes = slices.DeleteFunc(slices.Clone(l.left.Volumes), func(v string) bool { return v == volume })
		if len(found.There) == 0 {
			l.phase = leftOver
		}
	})
}

// checkRemoved looks whether a disk that was left is gone indeed.
func (o *Observer) checkRemoved(ctx context.Context, r model.RemoveDisk) error {
	list, err := o.client.Storage(r.Left.Node, model.StorageOf(r.Volume)).Content(ctx, pve.ContentFilter{Content: "images", VMID: r.Left.VMID})
	switch {
	case err != nil:
		return fmt.Errorf("look for %s on %s: %w", r.Volume, r.Left.Node, err)
	case slices.ContainsFunc(list, func(v pve.Volume) bool { return v.ID == r.Volume }):
		return fmt.Errorf("%s is still there, though Proxmox says that it is removed", r.Volume)
	}
	return nil
}

// LeftUnsure records that leftover disks have to be read again.
func (o *Observer) LeftUnsure() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lefts {
		if l.phase == leftKnown {
			l.left.Found = nil
		}
	}
}
