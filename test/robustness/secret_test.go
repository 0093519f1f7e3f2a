package robustness

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/model"
)

// secrets are what must be seen nowhere: ours, those of guests, and the tickets
// that Proxmox gives us.
var secrets = []string{ourSecret, ourPassword, guestSecret, userDataText, theirSecret, "PVE:root@pam:"}

// Write takes what we write anywhere: logs, events, reports, plans.
func (r *run) Write(b []byte) (int, error) {
	r.wrote(string(b))
	return len(b), nil
}

func (r *run) wrote(text string) {
	for _, s := range secrets {
		if strings.Contains(text, s) {
			r.fail("a secret was written: %s", strings.TrimSpace(text))
		}
	}
}

// diary takes the logs of a process: all names and values, each as it is before anything is escaped.
type diary struct {
	run  *run
	with string // attributes and groups of the logger
}

func (diary) Enabled(context.Context, slog.Level) bool { return true }

// Handle looks for secrets in a record.
func (d diary) Handle(_ context.Context, rec slog.Record) error {
	var b strings.Builder
	b.WriteString(rec.Level.String() + " " + rec.Message + d.with)
	rec.Attrs(func(a slog.Attr) bool { spell(&b, a); return true })
	d.run.wrote(b.String())
	return nil
}

func (d diary) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	for _, a := range attrs {
		spell(&b, a)
	}
	d.with += b.String()
	return d
}

func (d diary) WithGroup(name string) slog.Handler {
	d.with += " " + name
	return d
}

// spell writes an attribute out.
func spell(b *strings.Builder, a slog.Attr) {
	b.WriteString(" " + a.Key)
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindGroup:
		for _, inner := range v.Group() {
			spell(b, inner)
		}
	default:
		b.WriteString("=" + v.String())
	}
}

// noSecretAsked checks that no secret was sent where Proxmox logs it.
func (r *run) noSecretAsked() {
	for _, e := range r.trace.entries {
		for _, s := range secrets {
			if e.ours && strings.Contains(e.path+"?"+e.query, s) {
				r.fail("a secret is in a URL: %s", e)
			}
		}
	}
}

// slow are the keys that are made of the password of guests, by the parts of their owners that matter.
var slow sync.Map

// hashed is the password of guests with the part of sealing it that takes long, as doors bring it: 25 ms of a CPU
// for each process that is started.
func hashed(o model.Owner) *model.Secret {
	s := model.PasswordSecret(guestSecret)
	salt := [3]string{o.Door, o.Set, o.Namespace}
	key, done := slow.Load(salt)
	if !done {
		key = string(model.Slow(o, s))
		slow.Store(salt, key)
	}
	s.Slow = key.(string)
	return &s
}
