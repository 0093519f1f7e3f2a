package pvesim

// upload is a file that came with a request.
type upload struct {
	name   string            // of the file
	fields map[string]string // that stood before it
}

func (s *Sim) receiveUpload(a *actor, req *request, boundary string) (*upload, error) {
	return nil, daemonError(501, "uploads aren't there yet")
}
