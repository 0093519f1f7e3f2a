package export

import (
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// firewall is the firewall of a guest that has one and of which it was read. Interfaces are called
// by their slots.
func (w *writer) firewall() *spec.Firewall {
	seen := w.g.Firewall
	if seen == nil || len(seen.Options)+len(seen.Rules) == 0 || !w.says("firewall", "firewall") {
		return nil
	}
	said := func(key string) *bool {
		if value := seen.Options[key]; value != "" {
			on := value == "1"
			return &on
		}
		return nil
	}
	to := &spec.Firewall{
		PolicyIn: seen.Options["policy_in"], PolicyOut: seen.Options["policy_out"], LogIn: seen.Options["log_level_in"], LogOut: seen.Options["log_level_out"],
		DHCP: said("dhcp"), NDP: said("ndp"), RouterAdvertisements: seen.Options["radv"] == "1", MACFilter: said("macfilter"), IPFilter: seen.Options["ipfilter"] == "1",
	}
	if !seen.On() {
		to.Enabled = new(false)
	}
	for _, r := range seen.Rules {
		to.Rules = append(to.Rules, ruleOf(r))
	}
	return to
}

func ruleOf(r model.FirewallRule) spec.FirewallRule {
	to := spec.FirewallRule{Network: r.Interface, Comment: r.Comment}
	if r.Disabled {
		to.Enabled = new(false)
	}
	if r.Type == model.FirewallGroup {
		to.SecurityGroup = r.Action
		return to
	}
	to.Type, to.Action, to.Macro, to.Protocol = r.Type, r.Action, r.Macro, r.Protocol
	to.Port, to.SourcePort, to.Source, to.Destination, to.ICMPType, to.Log = r.DPort, r.SPort, r.Source, r.Dest, r.ICMPType, r.Log
	return to
}
