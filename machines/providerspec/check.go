package providerspec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

// The operating systems that we have user-data for.
const (
	Ubuntu  = "ubuntu"
	Debian  = "debian"
	Flatcar = "flatcar"
	Rocky   = "rockylinux"
	RHEL    = "rhel"
)

// OperatingSystems are all of them.
var OperatingSystems = []string{Ubuntu, Debian, Flatcar, Rocky, RHEL}

var diskSlot = regexp.MustCompile(`^(scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|sata[0-5]|ide[0-3])$`)

// most are the largest numbers that make sense, against units that were mixed up.
const (
	mostSockets = 16
	mostCores   = 512
	mostMB      = 16 << 20
	mostGB      = 1 << 20
)

// check reports errors in values that don't depend on Proxmox or Kubernetes.
func (r *report) check(v *Value) {
	switch v.CloudProvider {
	case CloudProvider:
	case "":
		r.fail("cloudProvider", "is missing: want %s", CloudProvider)
	default:
		r.fail("cloudProvider", "want %s, have %q", CloudProvider, suggest.Shortened(v.CloudProvider))
	}
	r.word("operatingSystem", v.OperatingSystem, OperatingSystems...)
	for i, key := range v.SSHPublicKeys {
		if _, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(key)); err != nil || len(strings.TrimSpace(string(rest))) > 0 {
			r.fail(fmt.Sprintf("sshPublicKeys[%d]", i), "want one public key as in authorized_keys")
		}
	}
	if n := v.Network; n != nil {
		if n.IPFamily != "" {
			r.word("network.ipFamily", n.IPFamily, "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4")
		}
		if n.CIDR == "" && (n.Gateway != "" || len(n.DNS.Servers) > 0) {
			r.fail("network.cidr", "is missing: gateway and dns go with an address")
		}
		if len(v.CloudProviderSpec.Networks) > 0 && n.CIDR != "" {
			r.fail("network.cidr", "is for the only interface of a machine; with cloudProviderSpec.networks, give the address there")
		}
	}
	if v.OverwriteCloudConfig != nil && strings.TrimSpace(*v.OverwriteCloudConfig) == "" {
		r.fail("overwriteCloudConfig", "is empty; leave it out")
	}
	r.proxmox(&v.CloudProviderSpec)
	r.system(v)
}

func (r *report) proxmox(p *Proxmox) {
	const at = "cloudProviderSpec."
	for name, v := range map[string]*Var{"endpoint": p.Endpoint, "userID": p.UserID, "token": p.Token, "allowInsecure": p.AllowInsecure, "proxyURL": p.ProxyURL, "ciStorageSSHPrivateKey": p.CIStorageSSHPrivateKey, "ca": p.CA} {
		r.variable(at+name, v)
	}
	slices.SortStableFunc(r.errs, func(a, b *Error) int { return strings.Compare(a.Field, b.Field) })
	switch {
	case p.VMTemplateID == 0 && p.Template == "":
		r.fail(at+"vmTemplateID", "is missing: name a template by vmTemplateID or template")
	case p.VMTemplateID != 0 && p.Template != "":
		r.fail(at+"template", "is instead of vmTemplateID; leave one of them out")
	case p.VMTemplateID != 0 && (p.VMTemplateID < spec.MinVMID || p.VMTemplateID > spec.MaxVMID):
		r.fail(at+"vmTemplateID", "want a VMID from %d on, have %d", spec.MinVMID, p.VMTemplateID)
	}
	r.number(at+"cpuSockets", p.CPUSockets, mostSockets, "sockets")
	r.number(at+"cpuCores", p.CPUCores, mostCores, "cores")
	r.number(at+"memoryMB", p.MemoryMB, mostMB, "MiB")
	r.number(at+"diskSizeGB", p.DiskSizeGB, mostGB, "GiB")
	if p.MemoryMB > 0 && p.MemoryMB < 16 {
		r.fail(at+"memoryMB", "counts MiB, so that %d is too little; did you mean %d?", p.MemoryMB, p.MemoryMB<<10)
	}
	if p.DiskName != "" && !diskSlot.MatchString(p.DiskName) {
		r.fail(at+"diskName", "want a disk of the template such as scsi0 or virtio0, have %q", suggest.Shortened(p.DiskName))
	}
	if p.Delivery != "" {
		r.word(at+"delivery", p.Delivery, "iso", "snippets")
	}
	if p.Delivery == "snippets" && p.CIStorageSSHPrivateKey == nil {
		r.fail(at+"ciStorageSSHPrivateKey", "is missing: Proxmox has no API for snippets, they are copied by SSH; without delivery: snippets no SSH is needed")
	}
	if p.Delivery == "snippets" && strings.TrimSpace(p.SSHHostKeys) == "" {
		r.fail(at+"sshHostKeys", "is missing: a node is only talked to if its key is known; give what ssh-keyscan prints")
	}
	if p.Copies != "" {
		r.word(at+"copies", p.Copies, "auto", spec.CopiesNever)
	}
	for i, n := range p.Networks {
		field := fmt.Sprintf("%snetworks[%d]", at, i)
		if n.Pool != nil && n.Address != "" {
			r.fail(field+".address", "is instead of addressPool; leave one of them out")
		}
		if n.Name == "" && n.Bridge == "" {
			r.fail(field+".bridge", "is missing")
		}
	}
	if f := p.Firewall; f != nil && len(f.Groups) == 0 && f.PolicyIn == "" && f.PolicyOut == "" {
		r.fail(at+"firewall.groups", "is missing: name security groups of the Proxmox cluster")
	}
}

// systemFields are the fields of operatingSystemSpec that are for some systems only.
var systemFields = map[string][]string{
	"disableLocksmithD": {Flatcar}, "disableUpdateEngine": {Flatcar}, "provisioningUtility": {Flatcar},
	"rhelSubscriptionManagerUser": {RHEL}, "rhelSubscriptionManagerPassword": {RHEL}, "rhsmOfflineToken": {RHEL}, "attachSubscription": {RHEL},
	"rhelUseSatelliteServer": {RHEL}, "rhelSatelliteServer": {RHEL}, "rhelOrganizationName": {RHEL}, "rhelActivationKey": {RHEL},
}

func (r *report) system(v *Value) {
	const at = "operatingSystemSpec."
	s := v.OperatingSystemSpec
	said := map[string]bool{
		"disableLocksmithD": s.DisableLocksmithD, "disableUpdateEngine": s.DisableUpdateEngine, "provisioningUtility": s.ProvisioningUtility != "",
		"rhelSubscriptionManagerUser": s.RHELSubscriptionManagerUser != "", "rhelSubscriptionManagerPassword": s.RHELSubscriptionManagerPassword != "",
		"rhsmOfflineToken": s.RHSMOfflineToken != "", "attachSubscription": s.AttachSubscription, "rhelUseSatelliteServer": s.RHELUseSatelliteServer,
		"rhelSatelliteServer": s.RHELSatelliteServer != "", "rhelOrganizationName": s.RHELOrganizationName != "", "rhelActivationKey": s.RHELActivationKey != "",
	}
	for name, of := range systemFields {
		if said[name] && !slices.Contains(of, v.OperatingSystem) {
			r.fail(at+name, "is for %s", strings.Join(of, ", "))
		}
	}
	if s.ProvisioningUtility != "" && s.ProvisioningUtility != "ignition" {
		r.fail(at+"provisioningUtility", "want ignition, have %q: Flatcar's own images read nothing else", suggest.Shortened(s.ProvisioningUtility))
	}
	if s.RHSMOfflineToken != "" || s.RHELUseSatelliteServer || s.RHELSatelliteServer != "" {
		r.fail(at+"rhsmOfflineToken", "and Satellite servers aren't supported: machines register by rhelOrganizationName and rhelActivationKey, or by a user and password")
	}
}

// variable checks that a value has one source, which is whole.
func (r *report) variable(field string, v *Var) {
	if v == nil {
		return
	}
	given := 0
	for _, is := range []bool{v.Value != "", v.Secret != nil, v.ConfigMap != nil} {
		if is {
			given++
		}
	}
	if given > 1 {
		r.fail(field, "want one of value, secretKeyRef and configMapKeyRef, not several")
	}
	for name, ref := range map[string]*KeyRef{"secretKeyRef": v.Secret, "configMapKeyRef": v.ConfigMap} {
		if ref == nil {
			continue
		}
		for part, text := range map[string]string{"namespace": ref.Namespace, "name": ref.Name, "key": ref.Key} {
			if text == "" {
				r.fail(field+"."+name+"."+part, "is missing")
			}
		}
	}
}

func (r *report) number(field string, have, most int, what string) {
	if have < 0 || have > most {
		r.fail(field, "want a number of %s up to %d, have %d", what, most, have)
	}
}

func (r *report) word(field, have string, words ...string) {
	if have == "" {
		r.fail(field, "is missing: want %s", strings.Join(words, ", "))
	} else if !slices.Contains(words, have) {
		r.fail(field, "%s", suggest.OneOf(have, words))
	}
}
