package pvesim

import "fmt"

// requestHA tells the high-availability manager what state is wanted of the
// VM, and lets it act.
func (t *task) requestHA(vmid int, state string) error {
	sid := fmt.Sprintf("vm:%d", vmid)
	res, ok := t.state.HA.Resources[sid]
	if !ok {
		return die("no such resource '%s'", sid)
	}
	res["state"] = state
	t.dirty()
	t.haActs(sid)
	return nil
}
