package pvesim

// qemuCloneRoutes copy VMs and make templates.
func qemuCloneRoutes() map[string]handler {
	return map[string]handler{}
}
