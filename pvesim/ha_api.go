package pvesim

// haRoutes are the high-availability manager's resources, groups and rules.
func haRoutes() map[string]handler {
	return map[string]handler{}
}
