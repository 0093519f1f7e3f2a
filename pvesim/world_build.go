package pvesim

// DefaultWorld is a small lab: three nodes, a local and a shared storage.
func DefaultWorld() *World { return &World{} }

func (w *World) withDefaults() *World {
	out := *w
	if out.Release == "" {
		out.Release = "9.2"
	}
	if out.Entry == "" && len(out.Nodes) > 0 {
		out.Entry = out.Nodes[0].Name
	}
	return &out
}

// build fills the simulator's state.
func (w *World) build(s *Sim) error { return nil }
