package karpenter

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/guestos"
)

// seed are the first-boot data in the drive of a machine.
func (l *lab) seed(vmid int) map[string]string {
	l.t.Helper()
	node := ""
	l.sim.Do(func(s *pvesim.State) { node = s.VMs[vmid].Node })
	for _, value := range l.config(vmid) {
		volume, options, _ := strings.Cut(value, ",")
		if !strings.Contains(options, "media=cdrom") {
			continue
		}
		data, err := l.sim.ReadVolume(node, volume)
		if err != nil {
			l.t.Fatal(err)
		}
		if img, ok := guestos.OpenISO(data); ok {
			return img.Files()
		}
	}
	l.t.Fatal("there are no first-boot data")
	return nil
}

// Every field of a ProxmoxTemplate that the original has ends in the config of machines.
func TestEveryFieldOfATemplateEndsInTheConfig(t *testing.T) {
	w := labWorld()
	w.Pools = []pvesim.WorldPool{{ID: "nodes"}}
	for i := range w.Nodes {
		w.Nodes[i].PCI = map[string]string{"0000:01:00.0": "10de:2204"}
	}
	o := fromYAML(t, strings.Replace(page, "  tags:\n", `    - name: net1
      model: e1000
      bridge: vmbr0
      firewall: false
      address4: 10.9.0.10-10.9.0.99/24
      gateway4: 10.9.0.1
      address6: fd00:9::10-fd00:9::99/64
      gateway6: fd00:9::1
      dnsServers: [10.9.0.2]
    - bridge: vmbr0
      address6: auto
  region: lab
  description: nodes of the lab
  bios: ovmf
  tpm: {version: v2.0}
  agent: {enabled: true, type: isa, fsTrimClonedDisks: true, fsFreezeOnBackup: false}
  pciDevices: [{mapping: gpu, pcie: true, xvga: true}]
  resourcePool: nodes
  onBoot: true
  tags:
`, 1))
	boot := talos()[2].(*corev1.Secret)
	// As the original's own template has it.
	boot.Data["network-config"] = []byte(`version: 1
config:
{{- range $iface := .Interfaces }}
- type: physical
  name: {{ $iface.Name }}
  mac_address: {{ $iface.MacAddr | lower | quote }}
{{- if ne $iface.MTU 0 }}
  mtu: {{ $iface.MTU }}
{{- end }}
  subnets:
  {{- if $iface.DHCPv4 }}
  - type: dhcp
  {{- else if $iface.Address4 }}{{- range $iface.Address4 }}
  - type: static
    address: {{ . | quote }}
    gateway: {{ $iface.Gateway4 | quote }}
  {{- end }}{{- end }}
  {{- if and $iface.Address6 $iface.Gateway6 }}{{- range $iface.Address6 }}
  - type: static6
    address: {{ . | quote }}
    gateway: {{ $iface.Gateway6 | quote }}
  {{- end }}
  {{- else if $iface.SLAAC }}
  - type: ipv6_slaac
  {{- end }}
{{- end }}
{{- if .NameServers }}
- type: nameserver
  address:
  {{- range .NameServers }}
  - {{ . | quote }}
  {{- end }}
{{- end }}
`)
	inLab(t, w, append(talos()[3:], boot, o, class(api.KindTemplate)), func(t *testing.T, l *lab) {
		l.sim.Do(func(s *pvesim.State) {
			s.HardwareMaps["pci"] = map[string]*pvesim.HardwareMap{"gpu": {Map: []string{"id=10de:2204,node=pve1,path=0000:01:00.0", "id=10de:2204,node=pve2,path=0000:01:00.0"}}}
		})
		l.settle()
		l.sim.Do(func(s *pvesim.State) {
			made := 0
			for _, vm := range s.VMs {
				if vm.Conf["template"] == "1" && strings.Contains(vm.Conf["tags"], "talos-k8s-proxmox") && strings.Contains(vm.Conf["description"], "nodes of the lab") {
					made++
				}
			}
			if made != len(w.Nodes) {
				t.Errorf("%d templates have the tags and the description", made)
			}
		})
		vmid := vmidOf(t, l.create(l.claim("node-1")))
		conf := l.config(vmid)
		for key, want := range map[string]string{
			"machine": "q35", "bios": "ovmf", "agent": "1,freeze-fs-on-backup=0,fstrim_cloned_disks=1,type=isa", "onboot": "1", "hostpci0": "mapping=gpu,pcie=1,x-vga=1",
		} {
			if conf[key] != want {
				t.Errorf("%s is %q, want %q", key, conf[key], want)
			}
		}
		for key, parts := range map[string][]string{
			"tpmstate0": {"version=v2.0"}, "efidisk0": {"local:"}, "net1": {"e1000=", "bridge=vmbr0"}, "net2": {"virtio=", "bridge=vmbr0"}, "description": {"Karpenter node node-1"},
		} {
			for _, part := range parts {
				if !strings.Contains(conf[key], part) {
					t.Errorf("%s is %q, want %s", key, conf[key], part)
				}
			}
		}
		l.sim.Do(func(s *pvesim.State) {
			if pool := s.Pools["nodes"]; pool == nil || !pool.VMs[vmid] {
				t.Errorf("the pool has %+v", pool)
			}
		})
		text := l.seed(vmid)["network-config"]
		for _, want := range []string{
			"name: eth1", `address: "10.9.0.`, `/24"`, `gateway: "10.9.0.1"`, "type: static6", `address: "fd00:9::`, `/64"`, `gateway: "fd00:9::1"`, "type: ipv6_slaac", `- "10.9.0.2"`, "mtu: 1500",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("want %s in\n%s", want, text)
			}
		}
		if strings.Contains(text, "${") {
			t.Errorf("a variable is left in\n%s", text)
		}
	})
}
