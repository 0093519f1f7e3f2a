package pvesim

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// cloudInitFormat is how the drive's contents are laid out.
func cloudInitFormat(c Conf) string {
	if typ := c["citype"]; typ != "" {
		return typ
	}
	if windowsVersion(c["ostype"]) > 0 {
		return "configdrive2"
	}
	return "nocloud"
}

// cloudInit renders what a VM is told at its first boot.
type cloudInit struct {
	*Sim
	vm   *VM
	conf Conf
}

// hostNames are the guest's short name and its full one.
func (ci *cloudInit) hostNames() (host, fqdn string) {
	host, ok := ci.conf["name"]
	if !ok {
		host = fmt.Sprintf("VM%d", ci.vm.ID)
	}
	short, _, dotted := strings.Cut(host, ".")
	switch {
	case dotted:
		return short, host
	case truthy(ci.conf["searchdomain"]):
		return host, host + "." + ci.conf["searchdomain"]
	}
	return host, host
}

// dns are the search domains and name servers: the VM's, or else the host's.
func (ci *cloudInit) dns() (search, servers []string) {
	hostSearch, hostServers := ci.hostDNS(ci.vm.Node)
	domains, ok := ci.conf["searchdomain"]
	if !ok {
		domains = hostSearch
	}
	servers = hostServers
	if own, ok := ci.conf["nameserver"]; ok {
		servers = strings.Fields(own)
	}
	return strings.Fields(domains), servers
}

// hostDNS is what the node's resolv.conf says.
func (s *Sim) hostDNS(node string) (search string, servers []string) {
	conf := s.state.Nodes[node].Conf
	get := func(key, def string) string {
		if v := conf["dns/"+key]; v != "" {
			return v
		}
		return def
	}
	for _, v := range []string{get("dns1", "192.168.77.1"), get("dns2", ""), get("dns3", "")} {
		if v != "" {
			servers = append(servers, v)
		}
	}
	return get("search", "lan"), servers
}

// sshKeys are the keys to put in, one each.
func (ci *cloudInit) sshKeys() (keys []string, ok bool) {
	text, ok := ci.conf["sshkeys"]
	for key := range strings.SplitSeq(unescapePercent(text), "\n") {
		if strings.TrimSpace(key) != "" {
			keys = append(keys, key)
		}
	}
	return keys, ok
}

// userData is the user-data in cloud-config form.
func (ci *cloudInit) userData(masked bool) string {
	c := ci.conf
	host, fqdn := ci.hostNames()
	var b strings.Builder
	fmt.Fprintf(&b, "#cloud-config\nhostname: %s\nmanage_etc_hosts: true\nfqdn: %s\n", host, fqdn)
	user, hasUser := c["ciuser"]
	if hasUser {
		fmt.Fprintf(&b, "user: %s\n", user)
	}
	if user == "root" {
		b.WriteString("disable_root: False\n")
	}
	if password, ok := c["cipassword"]; ok {
		if masked {
			password = maskedPassword
		}
		fmt.Fprintf(&b, "password: %s\n", password)
	}
	if keys, ok := ci.sshKeys(); ok {
		b.WriteString("ssh_authorized_keys:\n")
		for _, key := range keys {
			fmt.Fprintf(&b, "  - %s\n", key)
		}
	}
	b.WriteString("chpasswd:\n  expire: False\n")
	if user != "root" {
		b.WriteString("users:\n  - default\n")
	}
	if upgrade, ok := c["ciupgrade"]; !ok || truthy(upgrade) {
		b.WriteString("package_upgrade: true\n")
	}
	return b.String()
}

// network is the network configuration in the format that the drive has.
func (ci *cloudInit) network() (string, error) {
	if cloudInitFormat(ci.conf) == "nocloud" {
		return ci.networkV1()
	}
	return ci.networkENI(), nil
}

// metaData identifies the instance by what it is told, so that a change
// makes cloud-init run again.
func (ci *cloudInit) metaData() (string, error) {
	network, err := ci.network()
	if err != nil {
		return "", err
	}
	sum := sha1.Sum([]byte(ci.userData(false) + network))
	id := hex.EncodeToString(sum[:])
	if cloudInitFormat(ci.conf) == "nocloud" {
		return "instance-id: " + id + "\n", nil
	}
	return fmt.Sprintf("{\n     \"uuid\": %q,\n     \"network_config\": { \"content_path\": \"/content/0000\" }\n}\n", id), nil
}

// files are what the drive holds, by path, with its label. Those that the VM
// brings itself come from snippets.
func (ci *cloudInit) files() (files map[string]string, label string, err error) {
	custom, err := ci.customFiles()
	if err != nil {
		return nil, "", err
	}
	if cloudInitFormat(ci.conf) == "opennebula" {
		return map[string]string{"/context.sh": ci.context()}, "CONTEXT", nil
	}
	windows := windowsVersion(ci.conf["ostype"]) > 0 && cloudInitFormat(ci.conf) == "configdrive2"
	parts := map[string]func() (string, error){
		"user":    func() (string, error) { return ci.userData(false), nil },
		"network": ci.network,
		"meta":    ci.metaData,
		"vendor":  func() (string, error) { return "", nil },
	}
	if windows {
		parts["network"] = func() (string, error) { return ci.networkCloudbase(), nil }
		parts["meta"] = ci.metaDataCloudbase
	}
	size := 0
	for part, make := range parts {
		if _, ok := custom[part]; !ok {
			if custom[part], err = make(); err != nil {
				return nil, "", err
			}
		}
		size += len(custom[part])
	}
	if size > 3<<20 {
		return nil, "", die("Cloud-Init sum of snippets too big (> 3 MiB)")
	}
	if cloudInitFormat(ci.conf) == "nocloud" {
		return map[string]string{
			"/user-data": custom["user"], "/network-config": custom["network"],
			"/meta-data": custom["meta"], "/vendor-data": custom["vendor"],
		}, "cidata", nil
	}
	return map[string]string{
		"/openstack/latest/user_data": custom["user"], "/openstack/content/0000": custom["network"],
		"/openstack/latest/meta_data.json": custom["meta"], "/openstack/latest/vendor_data.json": custom["vendor"],
	}, "config-2", nil
}

// customFiles reads the snippets that replace what Proxmox would write.
func (ci *cloudInit) customFiles() (map[string]string, error) {
	files := map[string]string{}
	custom := ci.conf["cicustom"]
	for _, part := range []string{"network", "user", "meta", "vendor"} {
		volid, ok := property(custom, part, "")
		if !ok {
			continue
		}
		n, err := ci.parseVolID(volid)
		if err != nil {
			return nil, err
		}
		if n.kind != "snippets" {
			return nil, die("%s is not in the snippets directory", volid)
		}
		v, _ := ci.volume(ci.vm.Node, volid)
		if v == nil {
			return nil, die("volume '%s' does not exist", volid)
		}
		text, err := ci.blobText(v)
		if err != nil {
			return nil, err
		}
		files[part] = text
	}
	return files, nil
}

// metaDataCloudbase is the meta data for Windows' cloudbase-init.
func (ci *cloudInit) metaDataCloudbase() (string, error) {
	sum := sha1.Sum([]byte(ci.userData(false) + ci.networkCloudbase()))
	meta := map[string]any{
		"uuid":           hex.EncodeToString(sum[:]),
		"network_config": map[string]string{"content_path": "/content/0000"},
	}
	if p := ci.conf["cipassword"]; truthy(p) {
		meta["admin_pass"] = p
	}
	if keys, ok := ci.sshKeys(); ok && len(keys) > 0 {
		public := map[string]string{}
		for i, key := range keys {
			public[fmt.Sprintf("key-%d", i)] = key
		}
		meta["public_keys"] = public
	}
	b, err := json.Marshal(meta)
	return string(b), err
}
