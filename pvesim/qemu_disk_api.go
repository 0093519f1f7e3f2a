package pvesim

// qemuDiskRoutes resize, move and unlink disks.
func qemuDiskRoutes() map[string]handler {
	return map[string]handler{}
}
