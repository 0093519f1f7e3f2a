package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Left reads the leftover disks of our tasks, and their users. What can't be read now is read later.
func (o *Observer) Left(ctx context.Context) error {
	if err := o.readElder(ctx); err != nil {
		return err
	}
	for _, task := range o.leftToRead() {
		o.mu.RLock()
		l := o.lefts[task]
		if l == nil {
			o.mu.RUnlock()
			continue
		}
		left, unread, of := l.left, l.phase == leftUnread, l.task
		left.Watched = left.Watched && time.Since(l.since) <= leftFresh
		o.mu.RUnlock()
		var err error
		if unread {
			var by *model.Left
			if by, err = leftover.Recall(ctx, o.client, of); by != nil {
				left = *by
			} else if err == nil {
				o.changeLeft(task, func(l *leftBy) { l.phase = leftOver })
				continue
			}
		}
		if err == nil {
			left.Found, err = leftover.Find(ctx, o.client, left, &o.guestDisks, leftRead)
		}
		if hopeless(ctx, err) {
			return err
		}
		o.changeLeft(task, func(l *leftBy) { l.read(left, err) })
	}
	return nil
}

// leftToRead returns the tasks of which it has to be read what they have left.
func (o *Observer) leftToRead() (tasks []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for task, l := range o.lefts {
		if l.phase == leftUnread && !now.Before(l.early) || l.phase == leftKnown && l.left.Found == nil && !now.Before(l.left.Next) {
			tasks = append(tasks, task)
		}
	}
	slices.Sort(tasks)
	return tasks
}

// read takes over what was found, or why it couldn't be.
func (l *leftBy) read(left model.Left, err error) {
	now := time.Now()
	switch {
	case err == nil && len(left.Found.There) == 0:
		l.phase = leftOver
	case err == nil:
		left.Next, left.Trouble, left.Watched = time.Time{}, "", l.left.Watched
		l.phase, l.left, l.tries = leftKnown, left, 0
	default:
		own := l.action != nil && now.Sub(l.since) <= leftFresh
		if l.tries++; l.tries >= leftTries && !own {
			l.phase = leftOver
		}
		l.early, l.left.Next, l.left.Trouble = now.Add(leftRetry), now.Add(leftRetry), err.Error()
	}
}

// leftRetry is the pause after it couldn't be found out what a task has left.
const leftRetry = 10 * time.Second

// readElder asks the nodes for tasks that are too old for the lists, once.
func (o *Observer) readElder(ctx context.Context) error {
	o.mu.Lock()
	nodes := o.elder
	o.elder = nil
	o.mu.Unlock()
	token := o.client.TokenID()
	user, _, _ := strings.Cut(token, "!")
	for _, node := range nodes {
		tasks, _, err := o.client.Node(node).Tasks(ctx, pve.TaskFilter{User: user, Status: []string{"warning", "error"}, Since: time.Now().Add(-leftAge), Limit: uncleanTasks})
		if hopeless(ctx, err) {
			return err
		}
		var unclean []model.Task // none, if it can't be read: or another process gets them
		for _, t := range tasks {
			if t.UPID.User == token && t.Unclean() {
				unclean = append(unclean, endedTask(t))
			}
		}
		o.mu.Lock()
		o.noticeLeft(unclean)
		o.mu.Unlock()
	}
	return nil
}

// uncleanTasks limits how many tasks with an error or a warning are listed.
const uncleanTasks = 100
