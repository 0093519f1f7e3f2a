package pvesim

import "strings"

// haActive tells whether the manager works: it needs a cluster. Alone, a
// node's manager waits for its watchdog and leaves everything queued.
func (s *Sim) haActive() bool { return s.state.Cluster != "" && len(s.state.Nodes) > 2 }

// haActs lets the manager do what was asked of a resource: start what should
// run, stop what shouldn't. It works through tasks of its own.
func (s *Sim) haActs(sid string) {
	_, name, _ := strings.Cut(sid, ":")
	vm := s.state.VMs[atoi(name)]
	if vm == nil || !s.haActive() || s.state.Nodes[vm.Node].State != Online {
		return
	}
	node, id, root := vm.Node, vm.ID, &identity{user: "root@pam"}
	switch s.state.HA.Resources[sid]["state"] {
	case "", "started", "enabled":
		if vm.Run == nil {
			s.fork(node, "qmstart", name, root, func(t *task) error { return t.startVM(node, id, startOptions{}) })
		}
	case "stopped", "disabled":
		if vm.Run != nil {
			s.fork(node, "qmshutdown", name, root, func(t *task) error {
				return t.stopVM(node, id, stopOptions{shutdown: true, force: true})
			})
		}
	}
}
