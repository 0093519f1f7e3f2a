package ui

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// explanation is an error for people: what was tried, what Proxmox said, what
// to do next.
type explanation struct {
	tried string
	said  string
	do    []string
}

// adviceError is an error that knows what can be done about it.
type adviceError struct {
	err  error
	do   []string
	only bool // nothing else that is known about its cause helps
}

func (e *adviceError) Error() string { return e.err.Error() }
func (e *adviceError) Unwrap() error { return e.err }

// Advise adds what the person can do.
func Advise(err error, do ...string) error { return &adviceError{err: err, do: do} }

// Instead says what the person can do, in place of what is known in general about the cause.
func Instead(err error, do ...string) error { return &adviceError{err: err, do: do, only: true} }

// SiteError is an error of a cluster that is known how to be reached.
type SiteError struct {
	Conn   manifest.Connection
	Remedy []string // how to grant what is missing
	Err    error
}

func (e *SiteError) Error() string { return e.Err.Error() }
func (e *SiteError) Unwrap() error { return e.Err }

// Complain prints an error for people.
func (u *UI) Complain(err error) {
	fmt.Fprint(u.Err, explain(err).text(u.Page(u.Err)))
}

func explain(err error) explanation {
	var wrong manifest.Errors
	if errors.As(err, &wrong) {
		e := explainManifests(wrong)
		e.advised(err)
		return e
	}
	var conn manifest.Connection
	var from *SiteError
	if errors.As(err, &from) {
		conn = from.Conn
	}
	var e explanation
	switch cause, method := pveCause(err); {
	case cause != "":
		e = explanation{tried: before(err.Error(), cause), said: saidBy(err)}
		if e.tried == "" {
			e.tried = method
		}
		var login *pve.LoginError
		if errors.As(err, &login) {
			e.tried = "log in as " + login.User // whatever it was for
		}
		e.tried = "couldn't " + e.tried
		e.do = WhatToDo(err, conn)
		if from != nil && len(from.Remedy) > 0 {
			e.do = from.Remedy
		}
	default:
		e.tried = err.Error()
	}
	e.advised(err)
	return e
}

// advised adds what an error knows that can be done about it.
func (e *explanation) advised(err error) {
	var advice *adviceError
	if !errors.As(err, &advice) {
		return
	}
	e.advised(advice.err) // what is inside comes first: it is closer to the cause
	if advice.only {
		e.do = nil
	}
	for _, do := range advice.do {
		if do != "" && !slices.Contains(e.do, do) {
			e.do = append(e.do, do)
		}
	}
}

// pveCause finds the text of the innermost error that is Proxmox', and the
// request that it answers.
func pveCause(err error) (text, request string) {
	var task *pve.TaskError
	if errors.As(err, &task) {
		return task.Error(), fmt.Sprintf("task %s on %s", task.UPID.Type, task.UPID.Node)
	}
	var e *pve.Error
	if errors.As(err, &e) {
		return e.Error(), e.Method + " " + e.Path
	}
	return "", ""
}

// before is what stands before the cause in an error's text.
func before(text, cause string) string {
	head, _, found := strings.Cut(text, cause)
	if !found {
		return text
	}
	return strings.TrimSuffix(strings.TrimSpace(head), ":")
}

// saidBy is what Proxmox said, with the status of HTTP where it helps.
func saidBy(err error) string {
	text := act.Judge(err).Text
	var e *pve.Error
	if !errors.As(err, &e) {
		return text
	}
	switch {
	case e.Status == 0 && e.Kind == pve.ErrConnection:
		return "" // it didn't say anything
	case e.Status > 0:
		return fmt.Sprintf("%s (HTTP %d)", text, e.Status)
	case e.Kind == pve.ErrNodeUnreachable:
		return "" // the client knew it, and didn't ask again
	}
	return text
}

func explainManifests(wrong manifest.Errors) explanation {
	if len(wrong) == 1 && wrong[0].File == "" && wrong[0].Object == (model.Key{}) {
		return explanation{tried: wrong[0].Text} // it isn't about them
	}
	what := "manifests"
	if wrong[0].File == "" {
		what = "objects" // of Kubernetes
	}
	e := explanation{tried: fmt.Sprintf("the %s have %s", what, status.Count(len(wrong), "mistake"))}
	for _, one := range wrong {
		e.do = append(e.do, one.Error())
	}
	return e
}

// text is the explanation on a page. The first line says what went wrong.
func (e explanation) text(p status.Page) string {
	var b strings.Builder
	line := func(indent, text string) { b.WriteString(status.Wrap(text, p.Width, indent) + "\n") }
	first := strings.SplitN(e.tried, "\n", 2)
	line("       ", p.Red("Error: ")+first[0])
	if len(first) > 1 {
		b.WriteString(first[1] + "\n")
	}
	if e.said != "" {
		line("    ", "  Proxmox said: "+e.said)
	}
	for _, do := range e.do {
		if strings.HasPrefix(do, "  ") {
			b.WriteString("  " + do + "\n") // a command: never broken
			continue
		}
		line("    ", "  "+do)
	}
	return b.String()
}

// ShortCause returns what went wrong, without the call that was made.
func ShortCause(err error) string {
	var e *pve.Error
	if errors.As(err, &e) && e.Text != "" {
		return strings.TrimSpace(e.Text)
	}
	return err.Error()
}
