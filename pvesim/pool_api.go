package pvesim

// poolRoutes are the resource pools.
func poolRoutes() map[string]handler {
	return map[string]handler{}
}
