package pvesim

// qemuConfigRoutes create VMs, list, read, change and destroy them.
func qemuConfigRoutes() map[string]handler {
	return map[string]handler{}
}
