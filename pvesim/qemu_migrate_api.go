package pvesim

// qemuMigrateRoutes move VMs to other nodes.
func qemuMigrateRoutes() map[string]handler {
	return map[string]handler{}
}
