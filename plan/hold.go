package plan

import "github.com/proxplane/proxplane/model"

// hold removes the steps from the plans of objects that are paused, and notes what would be done.
func (p *planner) hold(out *Plan) {
	holds := map[model.Key]model.Hold{}
	for key, i := range p.images {
		holds[key] = i.Hold
	}
	for _, v := range p.want.VMs {
		holds[v.Owner.Key] = v.Hold
	}
	for _, s := range p.want.Snapshots {
		holds[s.Owner.Key] = s.Hold
	}
	for i := range out.Objects {
		o := &out.Objects[i]
		h := holds[o.Owner.Key]
		if h == (model.Hold{}) || len(o.Steps) == 0 {
			continue
		}
		text := h.Text + "; to be done is: " + o.Steps[0].What
		for _, s := range o.Steps[1:] {
			text += ", " + s.What
		}
		o.Steps, o.Wait, o.Foreseen = nil, &Wait{Reason: h.Reason, Text: text}, false
	}
}
