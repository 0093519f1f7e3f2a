package robustness

import (
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// fault draws something that goes wrong.
func (a *author) fault() {
	switch a.weighted(6, 5, 3, 2, 3, 7, 3, 3, 2, 1, 3, 2) {
	case 0:
		a.badAnswer()
	case 1:
		a.dropped()
	case 2:
		a.late()
	case 3:
		a.refused()
	case 4:
		a.held()
	case 5:
		a.badTask()
	case 6:
		a.full()
	case 7:
		a.nodeLost()
	case 8:
		a.lockedOut()
	case 9:
		a.slow()
	case 10:
		a.expired()
	case 11:
		a.away()
	}
}

// where draws which requests something happens to.
func (a *author) where(f *pvesim.Fault) {
	switch a.weighted(3, 4, 3, 3) {
	case 0: // any
	case 1:
		f.Method = pick(a.dice, "GET", "POST", "POST", "PUT", "DELETE")
	case 2:
		f.Method, f.Path = "POST", pick(a.dice, "/nodes/*/qemu/*/clone", "/nodes/*/qemu/*/status/*", "/nodes/*/qemu", "/nodes/*/qemu/*/snapshot/**", "/nodes/*/storage/*/upload")
	case 3:
		f.Path = pick(a.dice, "/cluster/**", "/nodes/*/tasks/**", "/nodes/*/qemu/*/config", "/nodes/*/qemu/*", "/nodes/*/qemu/*/pending", "/nodes/*/qemu/*/resize", "/nodes/*/storage/**")
	}
	f.Probability = pick(a.dice, 0.1, 0.3, 1)
	f.Times = a.number(1, 8)
}

func (a *author) badAnswer() {
	var f pvesim.Fault
	a.where(&f)
	f.Status = pick(a.dice, 500, 500, 502, 503, 504, 595, 596, 599)
	f.Reason = badAnswers[f.Status]
	a.inject(statusKind(f.Status), f)
}

var badAnswers = map[int]string{
	500: "unexpected end of things", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
	595: "No route to host", 596: "Connection timed out", 599: "Too many redirections",
}

func (a *author) dropped() {
	var f pvesim.Fault
	a.where(&f)
	f.Drop = pick(a.dice, "before", "after", "after")
	k := faultAfter
	if f.Drop == "before" {
		k = faultBefore
	}
	a.inject(k, f)
}

// late lets answers come late, and later than we wait.
func (a *author) late() {
	var f pvesim.Fault
	a.where(&f)
	k := pick(a.dice, faultLate, faultTooLate)
	f.Delay = pvesim.Duration(a.between(2*time.Second, ourTimeout-time.Second))
	if k == faultTooLate {
		f.Delay = pvesim.Duration(a.between(ourTimeout+time.Second, ourTimeout+30*time.Second))
	}
	f.Times = a.number(1, 3)
	a.inject(k, f)
}

// held lets somebody else hold a lock, longer or shorter than Proxmox waits.
func (a *author) held() {
	f := pvesim.Fault{
		Method: pick(a.dice, "POST", "PUT", "DELETE"), Path: "/nodes/*/qemu/*/**", Hold: "config",
		For: pvesim.Duration(a.between(time.Second, 40*time.Second)), Times: a.number(1, 4),
	}
	k := faultConfigLock
	if a.chance(0.4) {
		k, f.Hold = faultStoreLock, "storage:"+pick(a.dice, a.h.world.disks...)
	}
	a.inject(k, f)
}

// badTask lets tasks fail, or say that they did.
func (a *author) badTask() {
	f := pvesim.Fault{
		Task:  pick(a.dice, "*", "*", "*", "*", "*", "*", "qmclone", "qmcreate", "qmstart", "qmstop", "qmshutdown", "qmreboot", "qmdestroy", "qmconfig", "resize", "qmsnapshot", "qmrollback", "qmdelsnapshot", "imgcopy", "imgdel"),
		Times: a.number(1, 4), Mode: pick(a.dice, "instead", "after"),
		Error: pick(a.dice, "command failed: exit code 1", "got timeout", "unexpected status", "interrupted by signal"),
	}
	k := faultTask
	switch {
	case f.Mode == "after":
		k = faultDidIt
	case a.chance(0.3):
		k, f.Error = faultDidNothing, ""
	case a.chance(0.25):
		k, f.Error, f.Mode = faultTaskLate, "", ""
		most := 3 * time.Minute
		if f.Task == "*" || f.Task == "qmclone" || f.Task == "qmcreate" {
			most = 10 * time.Second // until then nothing shows what is being made: Proxmox waits for locks no longer
		}
		f.Delay = pvesim.Duration(a.between(2*time.Second, most))
	}
	a.inject(k, f)
}

// away loses a node at a request; for the one that we talk to, that is as if
// nobody listened.
func (a *author) away() {
	var f pvesim.Fault
	a.where(&f)
	f.Away, f.For, f.Times = pick(a.dice, append([]string{"."}, a.h.world.nodes...)...), pvesim.Duration(a.between(time.Second, 90*time.Second)), 1
	a.inject(faultAway, f)
}

func (a *author) slow() {
	storage := pick(a.dice, a.h.world.disks...)
	a.inject(faultSlow, pvesim.Fault{Slow: float64(a.number(3, 20)), Storage: storage, For: pvesim.Duration(a.between(10*time.Second, 3*time.Minute)), Times: 1})
}

// inject adds a rule, for good or for a while.
func (a *author) inject(k kind, f pvesim.Fault) {
	if err := f.Check(); err != nil {
		panic(err)
	}
	a.h.faults = append(a.h.faults, f)
	d := a.between(5*time.Second, 2*time.Minute)
	a.add(k, a.soon(), func(r *run) { r.fault(k, f, d) }, "%s, for %v at most", faultText(f), d)
}

func faultText(f pvesim.Fault) string {
	text := strings.NewReplacer("robustness.", "", "pvesim.", "").Replace(fmt.Sprintf("%+v", f))
	var parts []string
	for _, part := range strings.Fields(strings.Trim(text, "{}")) {
		if !strings.HasSuffix(part, ":") && !strings.HasSuffix(part, ":0") && !strings.HasSuffix(part, ":0s") {
			parts = append(parts, part)
		}
	}
	return "fault " + strings.Join(parts, " ")
}

// refused: nobody listens for a while.
func (a *author) refused() {
	d := a.between(time.Second, 90*time.Second)
	a.add(faultRefused, a.soon(), func(r *run) { r.refuse(d) }, "connections are refused for %v", d)
}

// full: a storage has no room left for a while.
func (a *author) full() {
	storage, d := pick(a.dice, a.h.world.disks...), a.between(5*time.Second, 4*time.Minute)
	a.add(faultFull, a.soon(), func(r *run) { r.fill(storage, d) }, "storage %s is full for %v", storage, d)
}

// nodeLost: a node can't be reached for a while, known or not.
func (a *author) nodeLost() {
	if len(a.h.world.nodes) < 2 {
		return
	}
	node := pick(a.dice, a.h.world.nodes[1:]...) // the first is the one that we talk to
	state, d := pick(a.dice, pvesim.Offline, pvesim.Unreachable), a.between(5*time.Second, 4*time.Minute)
	k := faultOffline
	if state == pvesim.Unreachable {
		k = faultGone
	}
	a.add(k, a.soon(), func(r *run) { r.lose(k, node, state, d) }, "node %s is %s for %v", node, state, d)
}

// lockedOut: our credentials don't work for a while.
func (a *author) lockedOut() {
	d := a.between(time.Second, 2*time.Minute)
	k := faultToken
	if a.h.world.password {
		k = faultPassword
	}
	a.add(k, a.soon(), func(r *run) { r.lockOut(k, d) }, "our credentials are revoked for %v", d)
}

// expired: tickets are too old all of a sudden.
func (a *author) expired() {
	if !a.h.world.password {
		a.badTask()
		return
	}
	a.add(faultExpired, a.soon(), (*run).expire, "the clock of Proxmox jumps by two hours")
}
