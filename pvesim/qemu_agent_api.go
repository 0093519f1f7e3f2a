package pvesim

// qemuAgentRoutes talk to the agent inside the guest.
func qemuAgentRoutes() map[string]handler {
	return map[string]handler{}
}
