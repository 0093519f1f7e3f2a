package pvesim

// qemuPowerRoutes start and stop VMs and tell how they are.
func qemuPowerRoutes() map[string]handler {
	return map[string]handler{}
}
