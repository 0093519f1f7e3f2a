package status

import (
	"cmp"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// PlanView is a plan for programs. Its field names are stable.
type PlanView struct {
	Objects []ObjectView `json:"objects"`
	Counts  Counts       `json:"counts"`
	// Notes are of no object in particular.
	Notes []string `json:"notes,omitempty"`
	// NotRead are the kinds of facts that weren't read: configs, power, agents.
	NotRead []string `json:"notRead,omitempty"`
}

// ObjectView is the plan for one object.
type ObjectView struct {
	Object    string        `json:"object"` // "vm/web-1"
	Kind      string        `json:"kind"`
	Namespace string        `json:"namespace,omitempty"`
	Name      string        `json:"name"`
	VMID      int           `json:"vmid,omitempty"`
	Node      string        `json:"node,omitempty"`
	Placed    string        `json:"placed,omitempty"`
	State     model.State   `json:"state"`
	Reason    model.Reason  `json:"reason"`
	Message   string        `json:"message"`
	Steps     []StepView    `json:"steps,omitempty"`
	Foreseen  bool          `json:"foreseen,omitempty"` // the steps follow the wait in the message
	Refused   []RefusalView `json:"refused,omitempty"`
	Notes     []string      `json:"notes,omitempty"`
	Resolved  string        `json:"resolved,omitempty"` // template that an image stands for
	Lacks     []LackView    `json:"lacks,omitempty"`    // privileges that the credentials need and don't have
}

// LackView has the missing privileges on a path.
type LackView struct {
	Path       string   `json:"path"`
	Privileges []string `json:"privileges"`
}

// StepView is one step.
type StepView struct {
	N    int    `json:"n"`
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	// Changes are the differences that the step makes, as data.
	Changes []ChangeView `json:"changes,omitempty"`
	Effect  string       `json:"effect"`
	After   []int        `json:"after,omitempty"`
}

// ChangeView is one change.
type ChangeView struct {
	Field  string `json:"field"` // as in Proxmox' config: memory, net0.bridge
	Verb   string `json:"verb"`  // set, add, remove and others
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Effect string `json:"effect"`
}

func changesOf(list []model.Difference) []ChangeView {
	var views []ChangeView
	for _, d := range list {
		views = append(views, ChangeView{Field: fieldName(d.Field), Verb: string(d.Verb), From: d.From, To: d.To, Effect: string(d.Effect)})
	}
	return views
}

// fieldNames are the fields that aren't of Proxmox' config, as manifests call them.
var fieldNames = map[string]string{model.FieldPower: "powerState", model.FieldCloudInit: "cloudInit", "ha.max_restart": "ha.maxRestart", "ha.max_relocate": "ha.maxRelocate",
	"firewall.enable": "firewall.enabled", "firewall.policy_in": "firewall.policyIn", "firewall.policy_out": "firewall.policyOut",
	"firewall.log_level_in": "firewall.logIn", "firewall.log_level_out": "firewall.logOut", "firewall.radv": "firewall.routerAdvertisements",
	"firewall.macfilter": "firewall.macFilter", "firewall.ipfilter": "firewall.ipFilter",
}

func fieldName(field string) string {
	return cmp.Or(fieldNames[field], field)
}

// RefusalView is a refused step.
type RefusalView struct {
	What    string       `json:"what"`
	Why     string       `json:"why,omitempty"`
	Changes []ChangeView `json:"changes,omitempty"`
	Effect  string       `json:"effect"`
	Allow   string       `json:"allow"`           // the flag or field that allows it
	Needs   string       `json:"needs,omitempty"` // the same as a code, equal for all doors
}

// ViewOf returns the view of a plan.
func (w Words) ViewOf(all plan.Plan) PlanView {
	v := PlanView{Objects: []ObjectView{}, Counts: CountOf(all)}
	for _, note := range all.Notes {
		v.Notes = append(v.Notes, w.Note(note))
	}
	for _, o := range all.Objects {
		v.Objects = append(v.Objects, w.objectView(o))
	}
	return v
}

func (w Words) objectView(o plan.Object) ObjectView {
	out := w.Of(o)
	v := ObjectView{
		Object: Name(o.Owner.Key), Kind: o.Owner.Kind, Namespace: o.Owner.Namespace, Name: o.Owner.Name,
		VMID: o.VMID, Node: o.Node, Placed: o.Placed, State: out.State, Reason: out.Reason, Message: out.Message,
		Foreseen: o.Foreseen,
	}
	v.Resolved = o.Resolved
	if o.Wait != nil {
		for _, l := range o.Wait.Lacks {
			v.Lacks = append(v.Lacks, LackView{Path: l.Path, Privileges: l.Privs})
		}
	}
	for _, s := range o.Steps {
		v.Steps = append(v.Steps, StepView{N: s.N, What: Sentence(s.What), Why: Reason(s.Why, s.Diff), Changes: changesOf(s.Diff), Effect: string(s.Effect), After: s.After})
	}
	for _, r := range o.Refused {
		v.Refused = append(v.Refused, RefusalView{What: Sentence(r.What), Why: Reason(r.Why, r.Diff), Changes: changesOf(r.Diff), Effect: string(r.Effect), Allow: w.Consent(r.Allow), Needs: string(r.Allow)})
	}
	for _, note := range o.Notes {
		v.Notes = append(v.Notes, w.Note(note))
	}
	return v
}
