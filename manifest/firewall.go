package manifest

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/spec"
)

// firewallOf translates the firewall of a machine.
func firewallOf(f *api.Firewall) *spec.Firewall {
	if f == nil {
		return nil
	}
	out := &spec.Firewall{
		Enabled: f.Enabled, PolicyIn: f.PolicyIn, PolicyOut: f.PolicyOut, LogIn: f.LogIn, LogOut: f.LogOut, DHCP: f.DHCP, NDP: f.NDP,
		RouterAdvertisements: f.RouterAdvertisements, MACFilter: f.MACFilter, IPFilter: f.IPFilter,
	}
	ports := func(p *intstr.IntOrString) string {
		if p == nil {
			return ""
		}
		return p.String()
	}
	for _, r := range f.Rules {
		out.Rules = append(out.Rules, spec.FirewallRule{
			SecurityGroup: r.SecurityGroup, Type: r.Type, Action: r.Action, Network: r.Network, Macro: r.Macro, Protocol: r.Protocol,
			Port: ports(r.Port), SourcePort: ports(r.SourcePort), Source: r.Source, Destination: r.Destination, ICMPType: r.ICMPType,
			Log: r.Log, Enabled: r.Enabled, Comment: r.Comment,
		})
	}
	return out
}
