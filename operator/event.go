package operator

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// Reasons of events. The action of an event is the kind of the step, or the reason
// to wait.
const (
	EventDone     = "Done"
	EventFailed   = "Failed"
	EventWaiting  = "Waiting"
	EventInvalid  = "Invalid"
	EventReady    = "Ready"
	EventGone     = "Gone"
	EventReleased = "Released"
	EventSource   = "SourceChanged"
)

// event reports an engine's event about an object to people.
func (p *provider) event(e engine.Event) {
	p.deps.metrics.event(p.key, e)
	if p.deps.listener != nil {
		p.deps.listener(e)
	}
	if e.Owner.Key == model.Leftovers && e.Step != "" {
		// No object stands for them, so that the log is where people find it.
		p.log.Info("disks that Proxmox has left", "event", e.Kind, "step", e.Step, "reason", e.Text)
	}
	if p.deps.ledger.feeds[e.Owner.Kind] == nil {
		return // a template that no object describes
	}
	var text string
	e.Reason, text = inWords(e)
	p.record(e, text)
	kind := corev1.EventTypeNormal
	var reason string
	switch {
	case !p.matters(e):
		return
	case e.Kind == engine.Done:
		reason = EventDone
	case e.Kind == engine.Failed:
		kind, reason = corev1.EventTypeWarning, EventFailed
	case e.Kind == engine.Waiting:
		kind, reason = corev1.EventTypeWarning, EventWaiting
	case e.Reason == model.ReasonGone:
		reason, text = EventGone, "nothing of it is left in Proxmox"
	default:
		reason, text = EventReady, "up to date"
	}
	action := cmp.Or(e.Action, string(e.Reason), reason)
	text = nearby(e.Owner.Namespace, text)
	object, uid, ok := p.deps.ledger.object(e.Owner)
	var member *corev1.ObjectReference
	if !ok {
		uid = types.UID(e.Owner.UID) // it is gone
	} else if object != e.Owner.Key {
		one := reference(object, "")
		one.Name = e.Owner.Name
		member, text = &one, e.Owner.Name+": "+text
	}
	p.deps.events.Emit(kube.Event{About: reference(object, uid), Related: member, Type: kind, Reason: reason, Action: action, Note: text, Step: e.Kind == engine.Done, Time: e.Time})
}

func reference(key model.Key, uid types.UID) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: api.APIVersion, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: uid}
}

// inWords returns the text of an event, as in the object's status, and its reason.
func inWords(e engine.Event) (model.Reason, string) {
	if len(e.Refused) > 0 {
		v := status.Kubernetes.Of(plan.Object{Refused: e.Refused})
		return v.Reason, v.Message
	}
	text := e.Step
	if why := status.Text(e.Text, e.Diff); why != "" && text != "" && !e.Obvious {
		text += ": " + why
	} else if text == "" {
		text = why
	}
	return e.Reason, status.Kubernetes.Say(text, e.Hint)
}

// matters reports whether an event is for people: a creation, change, removal or failure,
// and waits that a person may have to end. Other waits are only in the object's status, and
// steps of a machine's creation are covered by its event.
func (p *provider) matters(e engine.Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case engine.Done:
		if model.FactsOfKind(e.Action).Makes {
			p.making[e.Owner] = true
			return true
		}
		return !p.making[e.Owner]
	case engine.Failed:
		return true
	case engine.Waiting:
		return e.Reason.Concerns()
	case engine.Ready:
		delete(p.making, e.Owner)
		return true
	}
	return false
}

// record logs events of objects.
func (p *provider) record(e engine.Event, text string) {
	log := p.log.With("object", e.Owner.Key.String(), "vmid", e.VMID, "node", e.Node)
	log.Debug("event", "kind", string(e.Kind), "step", e.Step, "text", status.Text(e.Text, e.Diff), "task", e.Task)
	p.mu.Lock()
	making := p.making[e.Owner]
	p.mu.Unlock()
	switch {
	case e.Kind == engine.Done && model.FactsOfKind(e.Action).Makes:
		log.Info("created", "step", e.Step)
	case e.Kind == engine.Done && model.FactsOfKind(e.Action).Destroys:
		log.Info("deleted", "why", status.Text(e.Text, e.Diff))
	case e.Kind == engine.Done && e.Action == "Release":
		log.Info("released", "why", status.Text(e.Text, e.Diff))
	case e.Kind == engine.Done && !making:
		log.Info("changed", "step", e.Step, "why", status.Text(e.Text, e.Diff))
	case e.Kind == engine.Waiting && (e.Reason == model.WaitRefused || e.Reason == model.WaitRestart):
		log.Info("refused", "why", text)
	}
}
