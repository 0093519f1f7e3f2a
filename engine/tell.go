package engine

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/model"
)

// view is the part of an outcome whose change is reported.
type view struct {
	version   int64
	state     State
	status    model.Status
	vmid      int
	node      string
	text      string
	task      string
	reason    model.Reason
	addresses string
	leased    string
	templates string
}

// tell reports the outcome of an object to its caller if it has changed. While facts are being read
// for the object, or are about to be, nothing is reported.
func (r *run) tell(o *object) {
	looking := o.phase == unread && !o.away || o.reads > 0 || r.able() && (r.due[o] || r.asksAgain(o))
	if o.part.opts.Changed == nil || o.phase == dropped || looking || r.live != nil && r.live.trouble.early() {
		return
	}
	out := r.outcome(o)
	v := view{version: out.Version, state: out.State, status: out.Status, vmid: out.VMID, node: out.Node, text: fmt.Sprint(out.Text, out.Diff, out.Do, out.Refused, out.Notes), task: out.Task}
	if out.Wait != nil {
		v.reason = out.Wait.Reason
	}
	for _, a := range out.Addresses {
		v.addresses += a.String() + " "
	}
	if out.Leased == nil {
		v.leased = o.last.leased // it isn't known
	} else {
		v.leased = fmt.Sprint(out.Leased)
	}
	v.templates = fmt.Sprint(out.Templates)
	verified := out.State == StateReady && out.Verified.Sub(o.verified) >= verifyPause
	if v == o.last && !verified || v.onlyText(o.last) && time.Since(o.lastAt) < textPause {
		return
	}
	o.last, o.lastAt, o.verified = v, time.Now(), out.Verified
	o.away = v.reason.Facts().Away
	o.part.opts.Changed(out)
}

// textPause is how often a wait is reported again whose reason is the same and whose text has
// changed: figures in it change all the time.
const textPause = time.Minute

// onlyText reports whether only the text has changed, as of a wait whose figures change.
func (v view) onlyText(was view) bool {
	was.text = v.text
	return v == was && v.state != StateChanging
}

// looked reports all changed outcomes after everything was observed.
func (r *run) looked() {
	r.tellAll()
	for _, p := range r.parts {
		if p.opts.Looked != nil {
			p.opts.Looked()
		}
	}
}

// tellAll reports all changed outcomes.
func (r *run) tellAll() {
	for _, o := range r.order {
		r.tell(o)
	}
}
