package change

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/cli/progress"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// results are what came of the work on each cluster.
type results struct {
	reports []engine.Report
	errs    []error
}

// late reports whether something came up that wasn't agreed to.
func (r results) late() bool { return slices.ContainsFunc(r.reports, engine.Report.Late) }

// converge works on all clusters at once and shows how it goes.
func (a *applying) converge(outer context.Context, u *ui.UI, list []*target.Site, plans []plan.Plan) (results, error) {
	begun := time.Now()
	ctx, cancel := ui.WithRest(outer, a.timeout, a.spent)
	defer cancel()
	defer func() { a.spent += time.Since(begun) }()
	show, stood := progress.New(u, a.output, joined(plans)), progress.NewStanding(joined(plans))
	events := func(e engine.Event) {
		stood.Event(e)
		show.Event(e)
	}
	done := results{make([]engine.Report, len(list)), make([]error, len(list))}
	parties := partiesOf(list, plans)
	var all sync.WaitGroup
	for i, c := range list {
		// Who says how long it may take is as patient with agents and locks: twice as long,
		// so that it is always the timeout that ends it, and says so.
		opts := engine.Options{Parallel: a.parallel, Patience: 2 * a.timeout, Events: events, Progress: show.WantsFractions(), Party: parties[i]}
		if !a.yes {
			opts.Agreed = &a.agreed[i]
		}
		all.Go(func() {
			report, err := c.Site.Apply(ctx, c.Desired, opts)
			done.reports[i], done.errs[i] = report, c.Fail(ui.Ending(ctx, err))
		})
	}
	all.Wait()
	show.End()
	if outer.Err() != nil {
		return done, ui.Interrupted(u, stood.Lines()...)
	}
	return done, nil
}

// conclude says what came of it.
func (a *applying) conclude(u *ui.UI, list []*target.Site, done results) error {
	if err := a.summary(u, list, done); err != nil {
		return err
	}
	code := ui.ExitOK
	for i, r := range done.reports {
		if err := done.errs[i]; err != nil {
			u.Complain(ui.Lateness(err))
		}
		if done.errs[i] != nil || !r.Converged() {
			code = ui.ExitFailed
		}
	}
	if code != ui.ExitOK {
		return &ui.ExitError{Code: code}
	}
	return nil
}

// summaryLine is the last line of -o json.
type summaryLine struct {
	Type      string        `json:"type"`
	Converged bool          `json:"converged"`
	Seconds   float64       `json:"seconds"`
	VMs       []status.VM   `json:"vms"`
	Others    []objectState `json:"others,omitempty"`

	gone  int      // of both
	stays []string // what of those that are gone is there all the same
}

// objectState is what became of an object that isn't a machine.
type objectState struct {
	Object  string `json:"object"`
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
}

// summary prints what became of everything.
func (a *applying) summary(u *ui.UI, list []*target.Site, done results) error {
	askAddressesOf(list, done.reports)
	sum := summaryLine{Type: "summary", Converged: true, VMs: []status.VM{}}
	var left []unfinished
	for i, r := range done.reports {
		sum.Converged = sum.Converged && r.Converged() && done.errs[i] == nil
		sum.Seconds = max(sum.Seconds, r.Took.Seconds())
		list[i].Observer.View(func(have *model.Observed) {
			for _, o := range r.Objects {
				if o.Owner.Kind == "Set" && finished(o) {
					continue // pruning is none of the objects that plans count
				}
				if target.IsVM(o.Owner.Kind) && !isGroup(o) {
					row := summaryOf(o, have.Guests[o.VMID])
					if id := a.released[o.Owner]; id != 0 && o.State == engine.StateGone {
						row = letGo(o, id, have.Guests[id])
					}
					sum.VMs = append(sum.VMs, row)
				} else {
					sum.Others = append(sum.Others, objectState{status.Name(o.Owner.Key), strings.ToLower(string(o.State)), cmp.Or(said(o), strings.Join(staying(o), "; "))})
				}
				if o.State == engine.StateGone {
					sum.gone++
					sum.stays = append(sum.stays, staying(o)...)
				}
				if !finished(o) {
					left = append(left, unfinished{o, list[i]})
				}
			}
		})
	}
	if a.output == "json" {
		return ui.WriteLine(u.Out, sum)
	}
	return a.table(u, sum, left)
}

// askAddressesOf asks the machines for their addresses that nobody has asked since there
// was nothing to do for them, or nothing that is allowed or that can be done.
func askAddressesOf(list []*target.Site, reports []engine.Report) {
	for i, r := range reports {
		have := list[i].Observer.Snapshot()
		var guests []*model.Guest
		for _, o := range r.Objects {
			if g := have.Guests[o.VMID]; g != nil && target.IsVM(o.Owner.Kind) && settled(o) && hasAgent(g) {
				guests = append(guests, g)
			}
		}
		list[i].AskAddresses(context.Background(), guests)
	}
}

// settled reports whether nothing was done for an object, and nothing will be.
func settled(o engine.Outcome) bool {
	return o.State == engine.StateReady || o.State == engine.StateRefused || o.State == engine.StateWaiting && o.Reason.Blocks()
}

// hasAgent reports whether a guest may have an agent, as far as its config was read.
func hasAgent(g *model.Guest) bool { return g.Config == nil || model.AgentOn(g.Config.Options) }

func (a *applying) table(u *ui.UI, sum summaryLine, left []unfinished) error {
	page := u.Page(u.Out)
	fmt.Fprintln(u.Out)
	if len(sum.VMs) > 0 {
		if _, err := io.WriteString(u.Out, status.SummaryTable(inWords(sum.VMs, left)).Text(u.Layout(false))); err != nil {
			return err
		}
		fmt.Fprintln(u.Out)
	}
	all := target.Remedies{}
	for i, o := range left {
		fmt.Fprintln(u.Out, status.Wrap(fmt.Sprintf("%s %s: %s", "✗", status.Name(o.Owner.Key), o.why()), page.Width, "    "))
		for _, line := range ui.HintLines(o.whatToDo(all, i < mostRemedies), page.Width) {
			fmt.Fprintln(u.Out, line)
		}
	}
	for _, note := range sum.stays {
		fmt.Fprintln(u.Out, status.Wrap("note: "+note, page.Width, "    "))
	}
	done := len(sum.VMs) + len(sum.Others) - len(left)
	ended := status.Ended(done-sum.gone, sum.gone)
	if done == sum.gone && len(sum.stays) > 0 {
		ended = status.Count(done, "object") + " gone, but for what the notes say"
	}
	verdict := page.Green(fmt.Sprintf("Done: %s, after %.1f s.", ended, sum.Seconds))
	switch {
	case len(left) == 0 && !sum.Converged:
		verdict = page.Yellow(fmt.Sprintf("Not done: %d up to date, of the others nothing is known, after %.1f s.", done, sum.Seconds))
	case len(left) > 0:
		ended := fmt.Sprintf("%d up to date", done-sum.gone)
		if sum.gone > 0 && sum.gone == done {
			ended = fmt.Sprintf("%d gone", sum.gone)
		} else if sum.gone > 0 {
			ended += fmt.Sprintf(", %d gone", sum.gone)
		}
		verdict = page.Yellow(fmt.Sprintf("Not done: %s, %d not, after %.1f s.", ended, len(left), sum.Seconds))
	}
	_, err := fmt.Fprintln(u.Out, verdict)
	return err
}

// inWords are the machines with one or two words about those that aren't done: the lines
// below the table say why.
func inWords(vms []status.VM, left []unfinished) []status.VM {
	words := map[engine.State]string{
		engine.StateChanging: "not done", engine.StateWaiting: "waiting", engine.StateRefused: "refused", engine.StateFailed: "failed",
	}
	type machine struct {
		object string
		vmid   int
	}
	said := map[machine]string{}
	for _, o := range left {
		word := words[o.State]
		if o.State == engine.StateWaiting && o.Reason.Blocks() {
			word = "blocked" // by what only a person can change
		}
		said[machine{status.Name(o.Owner.Key), o.VMID}] = word
	}
	out := slices.Clone(vms)
	for i, v := range out {
		if word := said[machine{v.Object, v.VMID}]; word != "" {
			out[i].Message = word
		}
	}
	return out
}

// unfinished is an object that isn't up to date in the end.
type unfinished struct {
	engine.Outcome
	of *target.Site
}

// why says why it isn't up to date.
func (o unfinished) why() string {
	if o.State == engine.StateChanging {
		return said(o.Outcome) + ": begun, and not done yet"
	}
	return said(o.Outcome)
}

// mostRemedies is for how many objects, and paths of one, it is looked up how to grant what is
// missing: it is mostly the same for the others.
const mostRemedies = 3

// whatToDo says what the person can do about it.
func (o unfinished) whatToDo(all target.Remedies, lookUp bool) []string {
	switch f := o.Failure; {
	case o.Reason == model.WaitPrivilege && o.Wait != nil && lookUp:
		return remedies(all, o.of, o.Wait.Lacks)
	case f == nil, o.Reason != model.WaitFailed: // or it got over that
		return nil
	case f.Lacks != nil && lookUp:
		return all.For(o.of, *f.Lacks)
	case !f.Hint.None():
		return []string{status.CLI.Advice(f.Hint)}
	}
	return nil
}

// remedies say how to grant what is missing, on a few paths.
func remedies(all target.Remedies, of *target.Site, missing []model.Lack) []string {
	more := len(missing) - mostRemedies
	lines := all.For(of, missing[:min(len(missing), mostRemedies)]...)
	if more > 0 {
		lines = slices.Insert(lines, len(lines)-1, fmt.Sprintf("The same on other paths: %d more.", more))
	}
	return lines
}

// grants say how to grant what the plans of the first cluster lack that lacks something.
func grants(list []*target.Site, plans []plan.Plan) []string {
	for i, p := range plans {
		var missing []model.Lack
		named := map[string]bool{}
		for _, o := range p.Objects {
			if o.Wait == nil {
				continue
			}
			for _, l := range o.Wait.Lacks {
				if key := l.Path + " " + strings.Join(l.Privs, " "); !named[key] {
					named[key] = true
					missing = append(missing, l)
				}
			}
		}
		if len(missing) > 0 {
			return remedies(target.Remedies{}, list[i], missing)
		}
	}
	return nil
}

// isGroup reports whether an object stands for several machines and isn't one itself: what is
// refused is a smaller count.
func isGroup(o engine.Outcome) bool { return o.VMID == 0 && o.State == engine.StateRefused }

func finished(o engine.Outcome) bool {
	return o.State == engine.StateReady || o.State == engine.StateGone
}

// summaryOf is a row of the table at the end.
func summaryOf(o engine.Outcome, g *model.Guest) status.VM {
	v := status.Wanted(g, plan.Object{Owner: o.Owner, VMID: o.VMID, Node: o.Node, Gone: o.State == engine.StateGone, Wait: o.Wait, Refused: o.Refused})
	switch {
	case o.State == engine.StateGone:
		v.State, v.Message = "absent", "gone"
	case finished(o):
		v.Message = ""
	default:
		no := false
		v.Ready, v.Message = &no, said(o)
		v.Reason = status.CLI.Of(plan.Object{Wait: o.Wait, Refused: o.Refused}).Reason
	}
	if g != nil && o.Status != "" {
		v.State = string(o.Status)
	}
	if len(o.Addresses) > 0 {
		v.Addresses = status.Addresses(o.Addresses)
	}
	return v
}

// said is what became of an object, in words.
func said(o engine.Outcome) string { return status.CLI.Say(status.Text(o.Text, o.Diff), o.Do) }

// staying says what is there all the same of an object that is gone.
func staying(o engine.Outcome) []string {
	if o.State != engine.StateGone {
		return nil
	}
	var list []string
	for _, n := range o.Notes {
		list = append(list, status.CLI.Note(n))
	}
	return list
}

// letGo is the row of a machine that is proxplane's no more, and stays.
func letGo(o engine.Outcome, vmid int, g *model.Guest) status.VM {
	v := status.Wanted(g, plan.Object{Owner: o.Owner, VMID: vmid, Gone: true})
	v.VMID, v.Message = vmid, "released; it stays in Proxmox"
	if g != nil {
		v.State, v.Node = string(g.Status), g.Node
	}
	return v
}
