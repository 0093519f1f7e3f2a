package pvesim

// taskRoutes are the tasks of a node.
func taskRoutes() map[string]handler {
	return map[string]handler{}
}
