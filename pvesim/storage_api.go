package pvesim

// storageRoutes are the storages and what is on them.
func storageRoutes() map[string]handler {
	return map[string]handler{}
}
