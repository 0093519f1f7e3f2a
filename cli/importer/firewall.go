package importer

import "github.com/proxplane/proxplane/spec"

func writeFirewall(f *spec.Firewall) *mapping {
	if f == nil {
		return nil
	}
	enabled := f.Enabled
	if enabled == nil {
		enabled = new(true) // so that something is said
	}
	m := (&mapping{}).put("enabled", enabled).put("policyIn", f.PolicyIn).put("policyOut", f.PolicyOut).put("logIn", f.LogIn).put("logOut", f.LogOut)
	m.put("dhcp", f.DHCP).put("ndp", f.NDP).put("routerAdvertisements", f.RouterAdvertisements).put("macFilter", f.MACFilter).put("ipFilter", f.IPFilter)
	if len(f.Rules) > 0 {
		m.put("rules", writeList(f.Rules, writeRule))
	}
	return m
}

func writeRule(r spec.FirewallRule) *mapping {
	m := (&mapping{}).put("securityGroup", r.SecurityGroup).put("type", r.Type).put("action", r.Action).put("network", r.Network).put("macro", r.Macro)
	m.put("protocol", r.Protocol).put("port", r.Port).put("sourcePort", r.SourcePort).put("source", r.Source).put("destination", r.Destination)
	return m.put("icmpType", r.ICMPType).put("log", r.Log).put("enabled", r.Enabled).put("comment", r.Comment)
}
