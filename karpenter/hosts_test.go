package karpenter

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/pvesim"
)

// hosted is a world whose nodes have addresses on their bridge: pve1 10.9.0.1, pve2 10.9.0.2.
func hosted(t *testing.T, l *lab, bits int) {
	t.Helper()
	l.sim.Do(func(s *pvesim.State) {
		for name, n := range s.Nodes {
			opts := n.Bridges[len(n.Bridges)-1].Opts
			address := "10.9.0." + strings.TrimPrefix(name, "pve")
			for key, value := range map[string]string{
				"address": address, "netmask": fmt.Sprint(bits), "gateway": "10.9.0.5", "address6": "fd00:9::" + strings.TrimPrefix(name, "pve"), "netmask6": "64", "gateway6": "fd00:9::5", "mtu": "9000",
			} {
				opts[key] = value
			}
		}
	})
}

// Templates of first-boot data have what the Proxmox node has on the bridge, as in karpenter-provider-proxmox.
func TestFirstBootDataHaveTheAddressesOfTheProxmoxNode(t *testing.T) {
	objects := talos()
	objects[2].(*corev1.Secret).Data = map[string][]byte{"user-data": []byte(`#cloud-config
hostname: {{ .Metadata.Hostname }}
{{- with index .Network.Interfaces 0 }}
host: {{ cidrhost .NodeAddress4 }} {{ .NodeAddress4 }} {{ .NodeGateway4 }} {{ .NodeAddress6 }} {{ .NodeGateway6 }} {{ .MTU }}
{{- end }}
`)}
	inLab(t, labWorld(), objects, func(t *testing.T, l *lab) {
		hosted(t, l, 24)
		l.settle()
		if ready := l.class().StatusConditions().Get("Ready"); !ready.IsTrue() {
			t.Fatalf("the class isn't ready: %s", ready.Message)
		}
		for _, zone := range []string{"1", "2"} {
			text := l.seed(vmidOf(t, l.create(l.claim("node-"+zone, zoneIs("pve"+zone)))))["user-data"]
			if want := strings.ReplaceAll("host: 10.9.0.N 10.9.0.N/24 10.9.0.5 fd00:9::N/64 fd00:9::5 9000\n", "N", zone); !strings.Contains(text, want) {
				t.Errorf("want %s in\n%s", want, text)
			}
		}
	})
}

// No machine gets an address that a router, a Proxmox node or a Node of Kubernetes has, though no config of a guest has it. Without a gateway, the
// Proxmox node is the gateway, as in karpenter-provider-proxmox.
func TestMachinesGetNoAddressOfSomebodyElse(t *testing.T) {
	for _, c := range []struct{ reason, ipconfig, gateway string }{
		{"the gateway is said", "ip=10.9.0.0/29,gw=10.9.0.5", "10.9.0.5"},
		{"the gateway isn't said", "ip=10.9.0.0/29", "10.9.0.1"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			objects := append(talos(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "control-plane"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.9.0.4"}}}})
			objects[2].(*corev1.Secret).Data["network-config"] = []byte("{{ with index .Interfaces 0 }}address: {{ index .Address4 0 }}\ngateway: {{ .Gateway4 }}\n{{ end }}")
			w := labWorld()
			for i := range w.Guests {
				w.Guests[i].Config["ipconfig0"] = c.ipconfig
			}
			inLab(t, w, objects, func(t *testing.T, l *lab) {
				hosted(t, l, 29)
				l.settle()
				got := map[string]bool{}
				for i := range 2 { // of 10.9.0.1 to 10.9.0.6 two are left
					claim := l.create(l.claim(fmt.Sprintf("node-%d", i), zoneIs("pve1")))
					text := l.seed(vmidOf(t, claim))["network-config"]
					_, rest, _ := strings.Cut(text, "address: ")
					address, _, _ := strings.Cut(rest, "\n")
					p, err := netip.ParsePrefix(address)
					if err != nil || !strings.Contains(text, "gateway: "+c.gateway+"\n") {
						t.Fatalf("%v in\n%s", err, text)
					}
					got[p.Addr().String()] = true
					// Its Node has the address, too, which is no reason to take it from the machine.
					node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Labels: map[string]string{v1.NodePoolLabelKey: "default"}}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: p.Addr().String()}}}}
					if err := l.client.Create(t.Context(), node); err != nil {
						t.Fatal(err)
					}
					l.initialized(claim)
				}
				if !got["10.9.0.3"] || !got["10.9.0.6"] {
					t.Errorf("they have %v", got)
				}
			})
		})
	}
}
