package pvesim

// firewallRoutes are firewall options, rules and groups.
func firewallRoutes() map[string]handler {
	return map[string]handler{}
}
