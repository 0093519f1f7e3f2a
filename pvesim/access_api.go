package pvesim

// accessRoutes are users, groups, roles, tokens, ACLs and tickets.
func accessRoutes() map[string]handler {
	return map[string]handler{}
}
