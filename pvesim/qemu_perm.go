package pvesim

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

// optionPrivs says which privilege an option needs.
var optionPrivs = func() map[string]string {
	privs := map[string]string{}
	for priv, options := range map[string]string{
		"VM.Config.CPU":    "cores cpu runningcpu cpulimit cpuunits numa smp sockets vcpus",
		"VM.Config.Memory": "memory balloon shares allow-ksm",
		"VM.Config.HWType": "acpi hotplug kvm machine runningmachine scsihw smbios1 tablet vga watchdog audio0 rng0",
		"VM.Config.Options": "agent autostart bios description keyboard localtime migrate_downtime migrate_speed name " +
			"onboot ostype protection reboot startdate startup tdf template",
		"VM.PowerMgmt":      "freeze",
		"VM.Config.Disk":    "boot bootdisk vmstatestorage",
		"VM.Config.Network": "running-nets-host-mtu",
	} {
		for _, option := range strings.Fields(options) {
			privs[option] = priv
		}
	}
	return privs
}()

// cloudInitOptions are those that GET cloudinit lists.
var cloudInitOptions = []string{
	"cicustom", "cipassword", "citype", "ciupgrade", "ciuser", "nameserver", "searchdomain", "sshkeys",
}

// isCloudInitOption reports whether an option ends up in the cloud-init drive
// only.
func isCloudInitOption(key string) bool {
	for _, o := range cloudInitOptions {
		if o == key {
			return true
		}
	}
	return family(key, "ipconfig")
}

// needOptions checks that who may change options of a VM. Drives and devices
// are left out: what they need depends on their values.
func (s *Sim) needOptions(who *access.Identity, vmid int, pool string, keys []string) error {
	if who.Root() {
		return nil
	}
	for _, key := range keys {
		if err := s.needOption(who, vmid, pool, key); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sim) needOption(who *access.Identity, vmid int, pool, key string) error {
	switch {
	case isDriveKey[key], key == "cdrom", key == "tags":
		return nil
	case family(key, "unused"), family(key, "serial"), family(key, "usb"), family(key, "hostpci"), family(key, "virtiofs"):
		return nil
	case family(key, "numa"):
		return s.needVM(who, vmid, pool, "VM.Config.CPU")
	case family(key, "net"):
		return s.needVM(who, vmid, pool, "VM.Config.Network")
	case isCloudInitOption(key):
		either := []string{"VM.Config.Cloudinit", "VM.Config.Network"}
		if pool != "" && s.hasAny(who, "/pool/"+pool, either...) {
			return nil
		}
		return s.needAny(who, fmt.Sprintf("/vms/%d", vmid), either...)
	case key == "vmstate":
		return s.needVM(who, vmid, pool, "VM.Config.Disk", "VM.PowerMgmt")
	}
	priv := optionPrivs[key]
	if priv == "" {
		return die("only root can set '%s' config", key)
	}
	if err := s.needVM(who, vmid, pool, priv); err != nil {
		return err
	}
	if key == "startup" { // it changes what the host does
		return s.need(who, "/", "Sys.Modify")
	}
	return nil
}

// needDevices checks the devices of a VM that is being created.
func (s *Sim) needDevices(who *access.Identity, vmid int, pool string, conf Conf) error {
	if who.Root() {
		return nil
	}
	checks := []func(*access.Identity, int, string, string, string) error{
		s.needSerial, s.needUSB, s.needHostPCI, s.needRNG, s.needShare,
	}
	for i, name := range []string{"serial", "usb", "hostpci", "rng", "virtiofs"} {
		for _, key := range conf.keys() {
			if !family(key, name) {
				continue
			}
			if err := checks[i](who, vmid, pool, key, conf[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sim) needSerial(who *access.Identity, vmid int, pool, key, value string) error {
	if value == "socket" {
		return s.needVM(who, vmid, pool, "VM.Config.HWType")
	}
	return die("only root can set '%s' config for real devices", key)
}

// needUSB checks a USB device: real ones are for root, mapped ones for those
// who may use the mapping.
func (s *Sim) needUSB(who *access.Identity, vmid int, pool, key, value string) error {
	if who.Root() {
		return nil
	}
	if err := s.needVM(who, vmid, pool, "VM.Config.HWType"); err != nil {
		return err
	}
	host, _ := property(value, "host", "host")
	mapping, _ := property(value, "mapping", "host")
	switch {
	case strings.EqualFold(host, "spice"):
		return nil
	case host != "":
		return die("only root can set '%s' config for real devices", key)
	case mapping == "":
		return die("either 'host' or 'mapping' must be set.")
	}
	return s.need(who, "/mapping/usb/"+mapping, "Mapping.Use")
}

func (s *Sim) needHostPCI(who *access.Identity, vmid int, pool, key, value string) error {
	if who.Root() {
		return nil
	}
	host, _ := property(value, "host", "host")
	mapping, _ := property(value, "mapping", "host")
	switch {
	case host != "":
		return die("only root can set '%s' config for non-mapped devices", key)
	case mapping == "":
		return die("either 'host' or 'mapping' must be set.")
	}
	if err := s.need(who, "/mapping/pci/"+mapping, "Mapping.Use"); err != nil {
		return err
	}
	if err := s.needVM(who, vmid, pool, "VM.Config.HWType"); err != nil {
		return err
	}
	if _, ok := property(value, "romfile", "host"); ok {
		return badParam(key, "only root@pam can set 'romfile' option")
	}
	return nil
}

func (s *Sim) needRNG(who *access.Identity, vmid int, pool, key, value string) error {
	if who.Root() {
		return nil
	}
	if err := s.needVM(who, vmid, pool, "VM.Config.HWType"); err != nil {
		return err
	}
	if source, _ := property(value, "source", "source"); source == "/dev/hwrng" {
		return s.need(who, "/mapping/hwrng", "Mapping.Use")
	}
	return nil
}

// needShare checks a directory that is shared with the guest.
func (s *Sim) needShare(who *access.Identity, vmid int, pool, key, value string) error {
	if who.Root() {
		return nil
	}
	if err := s.needVM(who, vmid, pool, "VM.Config.Disk"); err != nil {
		return err
	}
	id, _ := property(value, "dirid", "dirid")
	return s.need(who, "/mapping/dir/"+id, "Mapping.Use")
}

// needNets checks the bridges, and on them the VLANs, of network cards.
func (s *Sim) needNets(who *access.Identity, conf Conf) error {
	if who.Root() {
		return nil
	}
	for _, key := range conf.keys() {
		if !family(key, "net") {
			continue
		}
		props, err := s.option("net0").ParseProps(key, conf[key])
		if err != nil || !props.Has("bridge") {
			continue
		}
		path := "/sdn/zones/localnetwork/" + props.Get("bridge")
		tags := trunkTags(props.Get("trunks"))
		if tag := props.Get("tag"); truthy(tag) {
			tags = append([]string{tag}, tags...)
		}
		for _, tag := range tags {
			if err := s.need(who, path+"/"+tag, "SDN.Use"); err != nil {
				return err
			}
		}
		if len(tags) > 0 {
			continue
		}
		if err := s.need(who, path, "SDN.Use"); err != nil {
			return err
		}
	}
	return nil
}

// trunkTags lists the VLANs of "2;5-7", sorted as texts.
func trunkTags(trunks string) []string {
	set := map[string]bool{}
	for part := range strings.SplitSeq(trunks, ";") {
		from, to, _ := strings.Cut(part, "-")
		if from == "" {
			continue
		}
		set[from] = true
		for tag := atoi(from) + 1; tag <= min(atoi(to), 4094); tag++ {
			set[fmt.Sprint(tag)] = true
		}
	}
	return sortedKeys(set)
}
