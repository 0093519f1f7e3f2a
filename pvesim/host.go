package pvesim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/pvesim/access"
)

// taskWait is how long a program waits for a task.
const taskWait = 365 * 24 * time.Hour

// Host is a node as somebody sees it who has a shell there.
type Host struct {
	sim  *Sim
	node string
}

// Host returns the node of that name.
func (s *Sim) Host(node string) *Host { return &Host{s, node} }

// Hosts returns all nodes, by name.
func (s *Sim) Hosts() (list []*Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.nodeNames() {
		list = append(list, s.Host(name))
	}
	return list
}

// Name returns the node's name.
func (h *Host) Name() string { return h.node }

// Up reports whether the node answers.
func (h *Host) Up() bool {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	n := h.sim.state.Nodes[h.node]
	return n != nil && n.State == Online
}

// LogIn reports whether that is the password of an account: of the user of that
// name in the realm pam.
func (h *Host) LogIn(account, password string) bool {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	return h.sim.checkPassword(account+"@pam", password) == nil
}

// Keys returns the SSH keys of the world that an account can log in with.
func (h *Host) Keys(account string) (keys []ssh.PublicKey) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	u := h.sim.state.Access.Users[account+"@pam"]
	if u == nil {
		return nil
	}
	for _, line := range u.SSHKeys {
		if key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line)); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Account reports whether there is such an account.
func (h *Host) Account(name string) bool {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	return h.sim.state.Access.Users[name+"@pam"] != nil
}

// Call does what a program of Proxmox does on the node as root: one call of the
// API, without the daemons. What a task logs goes to logf; its end is waited for.
func (h *Host) Call(method, path string, params map[string]any, logf func(line string)) (data any, err error) {
	s := h.sim
	s.mu.Lock()
	defer s.mu.Unlock()
	err = h.trap(func(a *actor) error {
		res, err := s.dispatch(a, &request{method: method, rel: path}, access.ParseIdentity(access.Root), h.node, params, nil)
		if err != nil {
			return err
		}
		data = res.data
		upid, _ := data.(string)
		if t := s.running[upid]; t != nil {
			a.waitFor(t.ended, taskWait)
		}
		return s.endOf(upid, logf)
	})
	return data, plainError(err)
}

// endOf passes the log of a task on, and returns its error.
func (s *Sim) endOf(upid string, logf func(line string)) error {
	info := s.byUPID[upid]
	if info == nil {
		return nil
	}
	for _, line := range info.Log {
		if !strings.HasPrefix(line, "TASK ") {
			logf(line)
		}
	}
	if info.Exit != "OK" && !strings.HasPrefix(info.Exit, "WARNINGS") {
		return die("%s", info.Exit)
	}
	return nil
}

// trap runs fn, with the state locked, until the simulator is closed.
func (h *Host) trap(fn func(*actor) error) error {
	return untilInterrupted(func() error { return fn(&actor{Sim: h.sim}) })
}

// plainError is an error as a program of Proxmox prints it.
func plainError(err error) error {
	var api *apiError
	if !errors.As(err, &api) || len(api.fields) == 0 {
		return err
	}
	text := "400 Parameter verification failed."
	for _, name := range sortedKeys(api.fields) {
		text += fmt.Sprintf("\n%s: %s", name, strings.TrimSuffix(api.fields[name], "\n"))
	}
	return errors.New(text)
}

// Texts returns the read-only files below /etc that are made from the state.
func (h *Host) Texts() map[string]string {
	s := h.sim
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := map[string]string{
		"/etc/hostname":        h.node + "\n",
		"/etc/pve/storage.cfg": s.storageFile(),
	}
	for id, token := range s.state.MetricTokens {
		texts["/etc/pve/priv/metricserver/"+id+".pw"] = token
	}
	for _, vm := range s.state.VMs {
		if vm.Node == h.node {
			texts[fmt.Sprintf("/etc/pve/qemu-server/%d.conf", vm.ID)] = vm.proxmoxFile()
		}
		texts[fmt.Sprintf("/etc/pve/nodes/%s/qemu-server/%d.conf", vm.Node, vm.ID)] = vm.proxmoxFile()
	}
	return texts
}

// checkKeys finds what is wrong with a world's SSH keys.
func (k *worldCheck) checkKeys(u WorldUser) {
	for _, line := range u.SSHKeys {
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line)); err != nil {
			k.addf("user %s: %q is no SSH key: a key is a line of authorized_keys", u.ID, line)
		}
	}
	if len(u.SSHKeys) > 0 && realmOf(u.ID) != "pam" {
		k.addf("user %s: only users of the realm pam have accounts to log in to by SSH", u.ID)
	}
}
