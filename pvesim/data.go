package pvesim

// persistence keeps the state in a directory.
type persistence struct{}

// open reads the state from the directory, if there is one.
func (p *persistence) open(s *Sim, dir string) (loaded bool, err error) { return false, nil }

func (p *persistence) close(s *Sim) error { return nil }

// dirty notes that the state has changed.
func (s *Sim) dirty() {}
