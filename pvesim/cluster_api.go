package pvesim

// clusterRoutes are the calls about the cluster as a whole.
func clusterRoutes() map[string]handler {
	return map[string]handler{}
}
