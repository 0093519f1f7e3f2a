package draft

import "github.com/proxplane/proxplane/spec"

func writeFirewall(f *spec.Firewall) *Mapping {
	if f == nil {
		return nil
	}
	enabled := f.Enabled
	if enabled == nil {
		enabled = new(true) // so that something is said
	}
	m := (&Mapping{}).Put("enabled", enabled).Put("policyIn", f.PolicyIn).Put("policyOut", f.PolicyOut).Put("logIn", f.LogIn).Put("logOut", f.LogOut)
	m.Put("dhcp", f.DHCP).Put("ndp", f.NDP).Put("routerAdvertisements", f.RouterAdvertisements).Put("macFilter", f.MACFilter).Put("ipFilter", f.IPFilter)
	if len(f.Rules) > 0 {
		m.Put("rules", writeList(f.Rules, writeRule))
	}
	return m
}

func writeRule(r spec.FirewallRule) *Mapping {
	m := (&Mapping{}).Put("securityGroup", r.SecurityGroup).Put("type", r.Type).Put("action", r.Action).Put("network", r.Network).Put("macro", r.Macro)
	m.Put("protocol", r.Protocol).Put("port", r.Port).Put("sourcePort", r.SourcePort).Put("source", r.Source).Put("destination", r.Destination)
	return m.Put("icmpType", r.ICMPType).Put("log", r.Log).Put("enabled", r.Enabled).Put("comment", r.Comment)
}
