package privileges

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve/schema"
)

// heldAge is how old what credentials may do may be when something isn't done for want of a privilege: somebody may
// have granted it since.
const heldAge = 30 * time.Second

// Foresee returns a plan that does nothing for objects of which Proxmox would refuse a step to these credentials: they wait
// for the privilege, by its name and path. What these credentials may do has to be read first, if there is
// anything to do. Where Proxmox doesn't say it, or leaves a doubt, the plan stays as it is, and Proxmox decides.
//
// [For] knows what is needed over a whole life, on an invented cluster; this is about the steps
// of one plan, on the real one.
func Foresee(p plan.Plan, want model.Desired, have *model.Observed) plan.Plan {
	if have.Root || have.Release == 0 {
		return p
	}
	f := &foresight{have: have, asked: map[string][]string{}}
	f.zoned = sync.OnceValue(func() map[string]map[string]bool { return zoned(have.Held.Paths) })
	for i, o := range p.Objects {
		if len(o.Steps) == 0 || o.Blocked() {
			continue
		}
		if have.Held == nil {
			p.Objects[i].Look.Held = true
			continue
		}
		if have.Held.Paths == nil {
			break
		}
		if f.vms == nil {
			f.vms = map[model.Key]model.VM{}
			for _, v := range want.VMs {
				f.vms[v.Owner.Key] = v
			}
		}
		f.judge(&p.Objects[i])
	}
	return p
}

// foresight judges the objects of one plan.
type foresight struct {
	have   *model.Observed
	schema *schema.Schema
	vms    map[model.Key]model.VM
	asked  map[string][]string // paths to be read, by the path above them
	zoned  func() map[string]map[string]bool
}

// judge has an object wait that a step of would be refused.
func (f *foresight) judge(o *plan.Object) {
	if f.schema == nil {
		s, err := schema.Load(release(f.have.Release))
		if err != nil {
			return // a release that nobody knows
		}
		f.schema = s
	}
	h := &holder{have: f.have, pools: f.pools(o), zoned: f.zoned}
	joins, pooled := joining(o)
	var unmet []need
	var whats []string
	for i, s := range o.Steps {
		for _, n := range f.needs(o, s.Action) {
			v := h.need(n)
			if v == lacking && joins != 0 && s.N != joins {
				// What Proxmox refuses now, it takes when the guest is in its pool.
				then := pooled.over(h)
				v, h.ask = then.need(n), then.ask
				if v == held && !slices.Contains(o.Steps[i].After, joins) {
					o.Steps[i].After = append(slices.Clone(o.Steps[i].After), joins)
				}
			}
			if v == lacking {
				unmet = append(unmet, n)
				if what := cmp.Or(sights[n.why], s.What); !slices.Contains(whats, what) {
					whats = append(whats, what)
				}
			}
		}
	}
	switch {
	case len(unmet) == 0:
		for _, at := range h.ask {
			f.ask(&o.Look, at)
		}
	case f.have.At.After(f.have.Held.At.Add(heldAge)):
		o.Look.Held = true
	default:
		f.refuse(o, h.missing(unmet), whats)
	}
}

// needs returns what a step asks for.
func (f *foresight) needs(o *plan.Object, a model.Action) []need {
	b := &book{at: Facts{Release: f.have.Release, Have: f.have}, schema: f.schema}
	for _, c := range f.calls(o, a) {
		b.call(c)
	}
	// Who may use a CPU model of the cluster's own is another thing in each release, and one that the guest has already takes nothing.
	needs := slices.DeleteFunc(b.needs, func(n need) bool { return n.why == useCPU })
	return append(needs, f.sights(o, a)...)
}

// intoPool is a guest that is put into a pool.
type intoPool struct{ guest, pool string }

// joining returns the step by which an object's guest gets into a pool; 0: there is none.
func joining(o *plan.Object) (step int, into intoPool) {
	for _, s := range o.Steps {
		if a, ok := s.Action.(model.SetPool); ok && a.Pool != "" {
			return s.N, intoPool{vmPath(a.VMID), poolPath(a.Pool)}
		}
	}
	return 0, into
}

// over returns a holder for which the guest is in the pool already.
func (p intoPool) over(h *holder) *holder {
	then := *h
	then.pools = maps.Clone(h.pools)
	then.pools[p.guest] = append(slices.Clone(h.pools[p.guest]), p.pool)
	return &then
}

// refuse has an object wait for privileges.
func (f *foresight) refuse(o *plan.Object, missing []claim, whats []string) {
	list := together(f.named(o, missing))
	var texts []string
	for _, l := range list[:min(len(list), namedPaths)] {
		texts = append(texts, enumerate(l.Privs)+" on "+l.Path)
	}
	if more := len(list) - namedPaths; more > 0 {
		texts = append(texts, fmt.Sprintf("privileges on %d more paths", more))
	}
	what := whats[0]
	if more := len(whats) - 1; more == 1 {
		what += "; " + whats[1]
	} else if more > 1 {
		what += fmt.Sprintf("; and %d more", more)
	}
	o.Steps, o.Foreseen, o.Look = nil, false, plan.Look{}
	o.Wait = &plan.Wait{Reason: model.WaitPrivilege, Text: fmt.Sprintf("these credentials lack %s (%s)", strings.Join(texts, ", and "), what), Lacks: list}
}

// namedPaths is how many paths a text names: a trunk may have thousands of VLANs, and Kubernetes takes no condition with a long text.
const namedPaths = 5

// enumerate returns "a, b and c".
func enumerate(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// ask has a path be read; of many beside each other, a few.
func (f *foresight) ask(look *plan.Look, at string) {
	above := path.Dir(at)
	if all := f.asked[above]; !slices.Contains(all, at) {
		if len(all) < enoughSiblings {
			f.asked[above] = append(all, at)
		} else {
			at = all[0]
		}
	}
	if !slices.Contains(look.Rights, at) {
		look.Rights = append(look.Rights, at)
	}
}

// calls returns the requests of a step, on the paths of what is really there.
func (f *foresight) calls(o *plan.Object, a model.Action) []call {
	d := deed{action: a, of: o.Owner.Key, newID: vmPath(o.VMID)}
	if vmid := a.Guest(); vmid != 0 {
		d.guest = vmPath(vmid)
		d.newID = d.guest
	}
	from := a.Guest()
	if clone, ok := a.(model.Clone); ok {
		from, d.source = clone.From.VMID, vmPath(clone.From.VMID)
	}
	if g := f.have.Guests[from]; g != nil {
		d.had = configOf(g)
	}
	list := calls(d, Facts{Release: f.have.Release, Have: f.have})
	for _, c := range list {
		if c.on["node"] == "/nodes" && o.Node != "" {
			c.on["node"] = nodePath(o.Node)
		}
	}
	return slices.DeleteFunc(list, func(c call) bool { return seldom(a, c) })
}

// seldom reports whether an action makes a call only now and then.
func seldom(a model.Action, c call) bool {
	return slices.ContainsFunc(model.FactsOf(a).Calls, func(of model.Call) bool {
		return of.Seldom && of.Method == c.method && of.Path == c.path
	})
}

// What it takes privileges for that is no step.
const (
	seeing   = "see what is made"
	asking   = "ask guest agents"
	entering = "run programs in what is made"
)

// sights are these, in words for people.
var sights = map[string]string{seeing: "see it", asking: "ask its guest agent for addresses", entering: "run programs in it"}

// sights returns what it takes to see what is made: who doesn't see it can't go on with it.
func (f *foresight) sights(o *plan.Object, a model.Action) []need {
	if !model.FactsOf(a).Makes {
		return nil
	}
	b := &book{at: Facts{Release: f.have.Release}, schema: f.schema}
	b.all(seeing, vmPath(a.Guest()), "VM.Audit")
	if f.asksAgent(o, a) {
		b.call(call{why: asking, method: "GET", path: vmCall + "/agent/network-get-interfaces", on: map[string]string{"vmid": vmPath(a.Guest())}})
	}
	if f.vms[o.Owner.Key].Entered {
		for _, c := range [][2]string{{"POST", "/agent/exec"}, {"GET", "/agent/exec-status"}, {"GET", "/agent/file-read"}} {
			b.call(call{why: entering, method: c[0], path: vmCall + c[1], on: map[string]string{"vmid": vmPath(a.Guest())}})
		}
	}
	return b.needs
}

// asksAgent reports whether the guest that is made is asked for its addresses.
func (f *foresight) asksAgent(o *plan.Object, a model.Action) bool {
	v := f.vms[o.Owner.Key]
	agent, said := v.Options["agent"]
	if clone, ok := a.(model.Clone); ok && !said {
		if from := f.have.Guests[clone.From.VMID]; from != nil && from.Config != nil {
			agent = from.Config.Options["agent"]
		}
	}
	return v.WaitAddress && agent != ""
}

// pools returns those whose rights hold on guests that an object's steps are about: they are in one, or are made in it.
func (f *foresight) pools(o *plan.Object) map[string][]string {
	pools := map[string][]string{}
	add := func(vmid int, pool string) {
		if at := vmPath(vmid); vmid != 0 && pool != "" && !slices.Contains(pools[at], poolPath(pool)) {
			pools[at] = append(pools[at], poolPath(pool))
		}
	}
	for _, s := range o.Steps {
		vmid := s.Action.Guest()
		if g := f.have.Guests[vmid]; g != nil {
			add(vmid, g.Pool)
		}
		add(vmid, madeIn(s.Action))
		if clone, ok := s.Action.(model.Clone); ok {
			if g := f.have.Guests[clone.From.VMID]; g != nil {
				add(clone.From.VMID, g.Pool)
			}
		}
	}
	return pools
}

// madeIn returns the pool in which an action makes a guest.
func madeIn(action model.Action) string {
	switch a := action.(type) {
	case model.Clone:
		return a.Pool
	case model.Create:
		return a.Pool
	}
	return ""
}

// named returns claims on the paths that people grant them on: a guest that is made in a pool gets its rights there.
func (f *foresight) named(o *plan.Object, claims []claim) []claim {
	pool := ""
	for _, s := range o.Steps {
		pool = cmp.Or(pool, madeIn(s.Action))
	}
	out := slices.Clone(claims)
	for i, c := range out {
		if pool != "" && c.path == vmPath(o.VMID) {
			out[i].path = poolPath(pool)
		}
	}
	return out
}
