package pvesim

import (
	"fmt"
	"maps"
	"slices"
)

// Info is a short description of what a simulator holds.
type Info struct {
	Nodes, Storages, Users []string
	Guests                 int
}

// Describe returns the state as a world. The passwords and token secrets of the world
// are shown: they protect nothing.
func (s *Sim) Describe() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := Info{Nodes: s.nodeNames(), Storages: slices.Sorted(maps.Keys(s.state.Storages)), Guests: len(s.state.VMs)}
	for i, name := range info.Nodes {
		if state := s.state.Nodes[name].State; state != Online {
			info.Nodes[i] = fmt.Sprintf("%s (%s)", name, state)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.state.Access.Users)) {
		u := s.state.Access.Users[id]
		if u.Password != "" {
			info.Users = append(info.Users, fmt.Sprintf("%s  password %s", id, u.Password))
		}
		for _, name := range slices.Sorted(maps.Keys(u.Tokens)) {
			info.Users = append(info.Users, fmt.Sprintf("%s!%s=%s", id, name, u.Tokens[name].Secret))
		}
	}
	return info
}

// SetFingerprint sets the certificate of the nodes, which /nodes shows.
func (s *Sim) SetFingerprint(fp string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.certs = map[string]string{}
	for name := range s.state.Nodes {
		s.certs[name] = fp
	}
}
