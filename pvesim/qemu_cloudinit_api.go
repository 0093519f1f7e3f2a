package pvesim

// qemuCloudInitRoutes are what cloud-init is given.
func qemuCloudInitRoutes() map[string]handler {
	return map[string]handler{}
}
