package karpenter

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
)

// unmanagedWith is a world whose nodes have templates that people made, with these settings beside those that all have.
func unmanagedWith(settings map[string]string) *pvesim.World {
	w := labWorld()
	w.Guests = nil
	for i, n := range w.Nodes {
		conf := maps.Clone(terraformed)
		maps.Copy(conf, settings)
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 1000 + i, Node: n.Name, Template: true, System: pvesim.WithoutAgent, Config: conf})
	}
	return w
}

// booted are the first-boot data of a node that is made from templates that people made.
func booted(t *testing.T, settings, parts map[string]string, check func(conf, files map[string]string)) {
	t.Helper()
	objects := talos()
	boot := objects[2].(*corev1.Secret)
	boot.Data = map[string][]byte{}
	for name, text := range parts {
		boot.Data[name] = []byte(text)
	}
	objects[3].(*corev1.Secret).Data["SSHAuthorizedKeys"] = []byte("ssh-ed25519 AAAA,ssh-ed25519 BBBB")
	inLab(t, unmanagedWith(settings), objects, func(t *testing.T, l *lab) {
		l.settle()
		if ready := l.class().StatusConditions().Get("Ready"); !ready.IsTrue() {
			t.Fatalf("the class isn't ready: %s", ready.Message)
		}
		vmid := vmidOf(t, l.create(l.claim("node-1")))
		files := l.seed(vmid)
		for name, text := range files {
			if strings.Contains(text, "${vm_") {
				t.Errorf("a variable is left in %s:\n%s", name, text)
			}
		}
		check(l.config(vmid), files)
	})
}

// The original's example for k3s, with the template of an image that people made, has the interfaces of that.
func TestNetworkConfigHasTheInterfacesOfATemplateThatPeopleMade(t *testing.T) {
	booted(t, map[string]string{"net1": "e1000,bridge=vmbr0,tag=7,rate=12.5", "ipconfig1": "ip=10.9.0.0/24,gw=10.9.0.1"}, map[string]string{"network-config": `network:
  version: 2
  ethernets:
{{- range .Interfaces }}
    {{ .Name }}:
      match:
        macaddress: {{ .MacAddr | lower | quote }}
      dhcp4: {{ .DHCPv4 }}
{{- range .Address4 }}
      addresses: [{{ . | quote }}]
{{- end }}
{{- if ne .MTU 0 }}
      mtu: {{ .MTU }}
{{- end }}
{{- end }}
`, "user-data": "#cloud-config\nhostname: {{ .Metadata.Hostname }}\nnode-ip: {{ cidrhost (index (index .Network.Interfaces 1).Address4 0) }}\nrouter: {{ cidrhost (index (index .Network.Interfaces 1).Address4 0) 1 }}\n"}, func(conf, files map[string]string) {
		var got struct {
			Network struct {
				Ethernets map[string]struct {
					Match     map[string]string `json:"match"`
					DHCP4     bool              `json:"dhcp4"`
					Addresses []string          `json:"addresses"`
					MTU       int               `json:"mtu"`
				} `json:"ethernets"`
			} `json:"network"`
		}
		if err := yaml.Unmarshal([]byte(files["network-config"]), &got); err != nil {
			t.Fatal(err)
		}
		first, second := got.Network.Ethernets["eth0"], got.Network.Ethernets["eth1"]
		if !first.DHCP4 || first.MTU != 1500 || second.DHCP4 || len(second.Addresses) != 1 || !strings.HasPrefix(second.Addresses[0], "10.9.0.") || second.MTU != 1500 {
			t.Errorf("it has %+v", got)
		}
		for slot, mac := range map[string]string{"net0": first.Match["macaddress"], "net1": second.Match["macaddress"]} {
			if mac == "" || !strings.Contains(strings.ToLower(conf[slot]), mac) {
				t.Errorf("%s is %s, and not %q", slot, conf[slot], mac)
			}
		}
		for slot, parts := range map[string][]string{"net0": {"virtio=", "bridge=vmbr0", "firewall=1", "mtu=1500"}, "net1": {"e1000=", "tag=7", "rate=12.5"}} {
			for _, part := range parts {
				if !strings.Contains(conf[slot], part) {
					t.Errorf("%s is %s, want %s", slot, conf[slot], part)
				}
			}
		}
		address, _, _ := strings.Cut(second.Addresses[0], "/")
		if !strings.Contains(files["user-data"], "node-ip: "+address+"\n") || !strings.Contains(files["user-data"], "router: 10.9.0.1\n") {
			t.Errorf("the address isn't in\n%s", files["user-data"])
		}
	})
}

// A Secret without user-data has machines get what the original's documentation says, with its names in YAML.
func TestDefaultFirstBootDataAreThoseOfTheOriginal(t *testing.T) {
	booted(t, map[string]string{"smbios1": "uuid=e536baad-cf78-4543-9034-60295eed2b22,manufacturer=acme"}, map[string]string{"vendor-data": "#cloud-config\nfinal_message: {{ .Hostname }} {{ .Metadata.InstanceType }}\n", "README.md": "for people"}, func(conf, files map[string]string) {
		var got struct {
			Hostname string `json:"hostname"`
			Users    []struct {
				Keys []string `json:"ssh_authorized_keys"`
			} `json:"users"`
			Files []struct{ Path, Content string } `json:"write_files"`
		}
		if err := yaml.Unmarshal([]byte(files["user-data"]), &got); err != nil {
			t.Fatalf("%v in\n%s", err, files["user-data"])
		}
		if got.Hostname != "node-1" || len(got.Users) != 1 || len(got.Users[0].Keys) != 2 || len(got.Files) != 1 || got.Files[0].Path != "/etc/karpenter.yaml" {
			t.Fatalf("it is\n%s", files["user-data"])
		}
		var all struct {
			Metadata   map[string]any    `json:"metadata"`
			Network    map[string][]any  `json:"network"`
			Resources  map[string]int64  `json:"resources"`
			Kubernetes map[string]any    `json:"kubernetes"`
			Values     map[string]string `json:"values"`
		}
		if err := yaml.UnmarshalStrict([]byte(got.Files[0].Content), &all); err != nil {
			t.Fatalf("%v in\n%s", err, got.Files[0].Content)
		}
		uuid := fmt.Sprint(all.Metadata["instanceuuid"])
		if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(uuid) || !strings.Contains(conf["smbios1"], "uuid="+uuid) || !strings.Contains(conf["smbios1"], "acme") && !strings.Contains(conf["smbios1"], base64.StdEncoding.EncodeToString([]byte("acme"))) {
			t.Errorf("the UUID is %s, and smbios1 %s", uuid, conf["smbios1"])
		}
		if id, is := all.Metadata["instanceid"].(string); !is || all.Metadata["providerid"] != "proxmox://lab/"+id || all.Metadata["instancetype"] != "c1.2VCPU-4GB" {
			t.Errorf("the metadata are %v", all.Metadata)
		}
		if all.Resources["cpu"] != 2 || all.Resources["memory"] != 4<<30 || all.Kubernetes["bootstraptoken"] == "" || all.Kubernetes["rootca"] == "" || all.Values["flavour"] != "vanilla" || len(all.Network["interfaces"]) != 1 {
			t.Errorf("it is %+v", all)
		}
		k, _ := all.Kubernetes["kubeletconfiguration"].(map[string]any)
		if k["providerID"] != all.Metadata["providerid"] || fmt.Sprint(k["evictionHard"]) != "map[imagefs.available:15% imagefs.inodesFree:5% memory.available:100Mi nodefs.available:10% nodefs.inodesFree:5%]" {
			t.Errorf("the kubelet's configuration is %v", k)
		}
		if !strings.Contains(files["vendor-data"], "final_message: node-1 c1.2VCPU-4GB") {
			t.Errorf("vendor-data is %s", files["vendor-data"])
		}
	})
}

// What is encoded has the machine's VMID in it, though that is chosen later.
func TestEncodedFirstBootDataHaveTheVMID(t *testing.T) {
	booted(t, nil, map[string]string{"user-data": "#cloud-config\nhostname: {{ .Metadata.Hostname }}\nwrite_files:\n- path: /etc/id\n  encoding: b64\n  content: {{ toYaml .Kubernetes.KubeletConfiguration | b64enc | b64enc }}\n"}, func(_, files map[string]string) {
		_, text, _ := strings.Cut(files["user-data"], "content: ")
		once, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		twice, err := base64.StdEncoding.DecodeString(string(once))
		if err != nil || !regexp.MustCompile(`(?m)^providerID: "?proxmox://lab/[0-9]+"?$`).Match(twice) {
			t.Errorf("it is %v\n%s", err, twice)
		}
	})
}

// A key that is misspelt is said, since its part would be missing without a word.
func TestAMisspeltKeyOfTheSecretIsACondition(t *testing.T) {
	objects := talos()
	objects[2].(*corev1.Secret).Data = map[string][]byte{"user_data": []byte("#cloud-config\n")}
	inLab(t, labWorld(), objects, func(t *testing.T, l *lab) {
		l.settle()
		if c := l.class().StatusConditions().Get(api.ConditionInstanceMetadataOptionsReady); !c.IsFalse() || !strings.Contains(c.Message, "the key user_data of the Secret is meant to be user-data") {
			t.Errorf("it is %+v", c)
		}
	})
}
