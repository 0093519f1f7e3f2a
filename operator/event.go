package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/status"
)

// Reasons of events. The action of an event is the kind of the step, or the reason
// to wait.
const (
	EventBegun    = "Begun"
	EventDone     = "Done"
	EventFailed   = "Failed"
	EventWaiting  = "Waiting"
	EventReady    = "Ready"
	EventGone     = "Gone"
	EventReleased = "Released"
)

// maxNote is how long the text of an event may be.
const maxNote = 1000

// event tells people what happens to an object.
func (s *site) event(e engine.Event) {
	s.deps.metrics.event(s.key, e)
	if s.deps.ledger.feeds[e.Owner.Kind] == nil {
		return // a template that no object describes
	}
	text := e.Step
	if why := status.Why(e.Text); why != "" && text != "" {
		text += ": " + why
	} else if text == "" {
		text = status.Sentence(e.Text)
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	kind := corev1.EventTypeNormal
	var reason string
	switch e.Kind {
	case engine.Started:
		reason = EventBegun
	case engine.Done:
		reason = EventDone
	case engine.Failed:
		kind, reason = corev1.EventTypeWarning, EventFailed
	case engine.Waiting:
		reason = EventWaiting
	case engine.Ready:
		reason, text = EventReady, "up to date"
		if e.Text == "gone" {
			reason, text = EventGone, "nothing of it is left in Proxmox"
		}
	default:
		return
	}
	s.log.Debug("event", "object", e.Owner.Key.String(), "kind", string(e.Kind), "step", e.Step, "text", e.Text, "task", e.Task)
	action := e.Action
	if action == "" {
		action = reason
	}
	text = nearby(e.Owner.Namespace, text)
	object, uid, ok := s.deps.ledger.object(e.Owner)
	one := ""
	if !ok {
		uid = types.UID(e.Owner.UID) // it is gone
	} else if object != e.Owner.Key {
		one, text = e.Owner.Name, e.Owner.Name+": "+text
	}
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote], "") + "…"
	}
	s.deps.events.tell(told{about: object, uid: uid, one: one, kind: kind, reason: reason, action: action, text: text, at: e.Time})
}
