package pvesim

// nodeRoutes are the calls about a node.
func nodeRoutes() map[string]handler {
	return map[string]handler{}
}
