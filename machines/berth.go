package machines

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

// berth is a Proxmox cluster with the login of some Machines.
type berth struct {
	site     *site.Site
	login    providerspec.Login
	machines map[model.Owner]model.Owner // whose templates they are made from
	trouble  *plan.Wait
	since    time.Time
	empty    time.Time // since when there is no machine in it; zero: there is one, or nobody has looked
}

// at is the berth of a login, which is opened if it isn't yet. The error says that new secrets don't work; the
// berth goes on with the former ones then.
func (f *fleet) at(ctx context.Context, login providerspec.Login) (*berth, error) {
	f.logins.Lock()
	defer f.logins.Unlock()
	f.mu.Lock()
	b := f.berths[login.Source]
	if b != nil {
		b.empty = time.Time{} // a machine is about to come
	}
	f.mu.Unlock()
	if b == nil {
		b = &berth{machines: map[model.Owner]model.Owner{}}
		if err := f.open(b, login); err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.berths[login.Source] = b
		f.mu.Unlock()
		return b, nil
	}
	if reflect.DeepEqual(b.login.Proxmox.Credentials, login.Proxmox.Credentials) && reflect.DeepEqual(b.login.SSH, login.SSH) {
		return b, nil
	}
	if err := f.probe(ctx, login); err != nil {
		return b, fmt.Errorf("the new token doesn't work, so the former one stays in use: %s", act.Judge(err).Text)
	}
	if ok, err := b.site.Relogin(login.Proxmox.Credentials); err != nil {
		return b, err
	} else if ok && reflect.DeepEqual(b.login.SSH, login.SSH) {
		b.login = login
		return b, nil
	}
	b.site.Close() // machines are put into the next one when they are looked at again
	next := &berth{machines: map[model.Owner]model.Owner{}}
	err := f.open(next, login)
	f.mu.Lock()
	defer f.mu.Unlock()
	for o := range b.machines {
		f.feed.wake(o)
	}
	if err != nil {
		delete(f.berths, login.Source)
		return nil, err
	}
	f.berths[login.Source] = next
	return next, nil
}

// verifyMachines is within which time the configs of all machines are read again: machines are replaced, and nobody is to change them by hand.
const verifyMachines = 24 * time.Hour

// emptyAge is how long a berth without machines stays: those that are replaced by others log in again at once.
const emptyAge = 10 * time.Minute

// closeEmpty closes berths that have had no machines for a while: their clusters aren't asked any more.
func (f *fleet) closeEmpty(now time.Time) {
	f.logins.Lock()
	defer f.logins.Unlock()
	var left []*berth
	f.mu.Lock()
	for source, b := range f.berths {
		switch {
		case len(b.machines) > 0:
			b.empty = time.Time{}
		case b.empty.IsZero():
			b.empty = now
		case now.Sub(b.empty) >= emptyAge:
			delete(f.berths, source)
			left = append(left, b)
		}
	}
	f.mu.Unlock()
	for _, b := range left {
		b.site.Close()
	}
}

// open connects. Whether Proxmox can be reached shows later.
func (f *fleet) open(b *berth, login providerspec.Login) error {
	cfg := f.config(login)
	s, err := f.options.Sites.Open(cfg, site.Options{Door: Door, Set: f.options.Set, Options: engine.Options{
		Changed: func(o site.Outcome) { f.changed(b, o) }, Verify: verifyMachines,
		Trouble: func(w *plan.Wait, since time.Time) { f.troubled(b, w, since) },
		Claim: func(ctx context.Context, owner model.Owner, vmid int, node string) error {
			return f.claim(ctx, b, owner, vmid, node)
		},
	}})
	if err != nil {
		return err
	}
	b.site, b.login = s, login
	return nil
}

func (f *fleet) config(login providerspec.Login) site.Config {
	cfg := site.Config{Proxmox: login.Proxmox, SSH: login.SSH, Proxy: login.Proxy, Identify: true}
	cfg.Proxmox.RoundTripper, cfg.Proxmox.Logger = f.options.Proxmox, f.log
	return cfg
}

// probe tries new secrets.
func (f *fleet) probe(ctx context.Context, login providerspec.Login) error {
	c, err := pve.New(f.config(login).Proxmox)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Version(ctx)
	return err
}

// idle reports whether nothing can be made for a machine now: it isn't looked after, or its Proxmox can't be used.
func (f *fleet) idle(o model.Owner) bool {
	b := f.of(o)
	if b == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return b.trouble != nil
}

// of is the berth that a machine is in; nil: none.
func (f *fleet) of(o model.Owner) *berth {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.berths {
		if _, ok := b.machines[o]; ok {
			return b
		}
	}
	return nil
}
