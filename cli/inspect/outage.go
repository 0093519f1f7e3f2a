package inspect

import (
	"errors"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pve"
)

// outage is a time in which Proxmox can't be polled: it is reported when it begins and when
// it is over.
type outage struct {
	u  *ui.UI
	on bool
}

// bears reports whether to go on looking after an error, since it may pass by itself.
func (o *outage) bears(err error) bool {
	var said *pve.Error
	switch act.Judge(err).Class {
	case act.Away, act.Busy, act.Lost, act.Passing:
	default:
		return false
	}
	if !errors.As(err, &said) {
		return false // it isn't Proxmox that has a problem
	}
	if !o.on {
		o.u.Note("Proxmox can't be asked now: %s; it is tried again until it can", ui.ShortCause(err))
	}
	o.on = true
	return true
}

// over is called when Proxmox has answered.
func (o *outage) over() {
	if o.on {
		o.u.Note("Proxmox answers again")
	}
	o.on = false
}
