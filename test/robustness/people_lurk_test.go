package robustness

import (
	"net/http"
	"strconv"
	"strings"
)

// rob takes the VMIDs that we use next, just before us.
func (o *others) rob(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.greedy += n
}

// lurk reuses the next VMID whose machine we are about to destroy.
func (o *others) lurk() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lurking++
}

// beforeUs is called when a request of ours is about to be handled.
func (o *others) beforeUs(e *entry) {
	switch {
	case e.method == http.MethodPost && strings.HasSuffix(e.path, "/clone"):
		o.takes(e.params.Get("newid"))
	case e.method == http.MethodPost && strings.HasSuffix(e.path, "/qemu"):
		o.takes(e.params.Get("vmid"))
	case e.method == http.MethodGet && e.call() == "config" && strings.Contains(e.query, "current=1"):
		o.slips(e.vmid())
	}
}

// takes makes a machine under a VMID that we are about to use, if they want to.
func (o *others) takes(vmid string) {
	id, err := strconv.Atoi(vmid)
	if err == nil && o.wants(&o.greedy) && o.make(id, "robbed") {
		o.run.tells(othersTake)
	}
}

// slips destroys a machine that we are about to look at for the last time, and
// makes one of theirs in its place.
func (o *others) slips(id int) {
	if !o.wants(&o.lurking) {
		return
	}
	leave := o.enter(id)
	defer leave()
	theirs := o.run.watch.release(id) // they may have taken it over before
	if o.reuse(id) {
		o.run.tells(othersSly)
	} else if theirs {
		o.run.watch.adopt(id)
	}
}

// wants takes one of what they still want to do.
func (o *others) wants(n *int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if *n == 0 {
		return false
	}
	*n--
	return true
}
