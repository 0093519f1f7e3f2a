package pvesim

// requestHA tells the high-availability manager what state is wanted of the
// VM, and lets it act.
func (t *task) requestHA(vmid int, state string) error {
	sid := haID(vmid)
	res, ok := t.state.HA.Resources[sid]
	if !ok {
		return die("no such resource '%s'", sid)
	}
	res["state"] = state
	t.dirty()
	t.haActs(sid)
	return nil
}

// requestHAStop has the manager stop the VM; the guest gets so many seconds
// to shut down.
func (t *task) requestHAStop(vmid, seconds int) error {
	sid := haID(vmid)
	res, ok := t.state.HA.Resources[sid]
	if !ok {
		return die("no such resource '%s'", sid)
	}
	res["state"] = "stopped"
	t.dirty()
	t.haStops(sid, seconds)
	return nil
}
