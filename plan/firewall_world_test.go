package plan

import (
	"strings"

	"github.com/proxplane/proxplane/model"
)

func clusterFirewall() *model.ClusterFirewall {
	return &model.ClusterFirewall{
		Groups: map[string]bool{"web": true, "mail": true}, Macros: map[string]bool{"ssh": true, "http": true, "https": true},
		Refs: map[string]bool{"office": true, "+blocked": true},
	}
}

// walls is a firewall that is on, with rules such as "in ACCEPT SSH" and "group web".
func walls(rules ...string) *model.Firewall {
	f := &model.Firewall{Options: map[string]string{"enable": "1"}}
	for _, text := range rules {
		part := append(strings.Fields(text), "", "")
		f.Rules = append(f.Rules, model.FirewallRule{Type: part[0], Action: part[1], Macro: part[2]})
	}
	return f
}
