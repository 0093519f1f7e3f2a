package plan

import "github.com/proxplane/proxplane/model"

// allows returns what may be done to a guest: what its manifest allows and what the
// person at the keyboard has agreed to.
func (p *planner) allows(v model.VM) model.Allow {
	a := p.want.Allow
	return model.Allow{
		Restart: a.Restart || v.Update.Restart,
		Replace: a.Replace || v.Update.Replace,
		Data:    a.Data || v.Update.Data,
		Stop:    a.Stop || v.Update.Stop,
		Move:    a.Move || v.Update.Move,
	}
}

// guard refuses a step whose effect wasn't agreed to, with the code of what would allow it.
func guard(o *Object, allow model.Allow, e Effect, what, why string, diff ...model.Difference) bool {
	var by model.Do
	switch {
	case e == Restart && !allow.Restart:
		by = model.AllowRestart
	case e == Replace && !allow.Replace:
		by = model.AllowReplace
	case e == LosesData && !allow.Data:
		by = model.AllowDataLoss
	default:
		return true
	}
	for i := range diff {
		diff[i].Effect = e
	}
	o.Refused = append(o.Refused, Refusal{What: what, Why: why, Diff: diff, Effect: e, Allow: by})
	return false
}

// rank orders effects by severity.
func rank(e Effect) int {
	switch e {
	case Restart, PowerOff:
		return 1
	case Replace:
		return 2
	case LosesData:
		return 3
	}
	return 0
}
