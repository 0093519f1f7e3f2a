package pvesim

// mappingRoutes are the directory mappings.
func mappingRoutes() map[string]handler {
	return map[string]handler{}
}
