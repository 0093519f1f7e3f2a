package pvesim

import (
	"strconv"
	"strings"
)

// windowsVersion is 0 for anything else than Windows.
func windowsVersion(ostype string) int {
	switch ostype {
	case "wxp", "w2k3", "w2k":
		return 5
	case "w2k8", "wvista":
		return 6
	}
	if n, ok := strings.CutPrefix(ostype, "win"); ok {
		v, _ := strconv.Atoi(n)
		return v
	}
	return 0
}

// pinnedMachine is the machine version that new Windows guests are given.
func (s *Sim) pinnedMachine() string {
	if s.atLeast(9) {
		return "11.0+pve2"
	}
	return "9.2+pve1"
}

// pinMachine is the machine type that is stored. Windows gets confused when
// its hardware changes, so its machine is tied to a version.
func (s *Sim) pinMachine(machine, ostype, arch string, logf func(string, ...any)) (string, error) {
	p := s.option("machine")
	props, err := p.ParseProps("", machine)
	if err != nil {
		return "", die("%s", strings.TrimSuffix(err.Error(), "\n"))
	}
	typ := props.Get("type")
	if windowsVersion(ostype) > 0 && (typ == "" || typ == "pc" || typ == "q35" || typ == "virt") {
		if typ == "" {
			typ = map[string]string{"aarch64": "virt"}[arch]
		}
		switch typ {
		case "q35":
			typ = "pc-q35-"
		case "virt":
			typ = "virt-"
		default:
			typ = "pc-i440fx-"
		}
		props.Set("type", typ+s.pinnedMachine())
		logf("pinning machine type to '%s' for Windows guest OS", props.Get("type"))
	}
	if err := s.checkMachine(p.PrintProps(props)); err != nil {
		return "", err
	}
	return p.PrintProps(props), nil
}

// checkMachine checks what doesn't go together in a machine type.
func (s *Sim) checkMachine(machine string) error {
	props, err := s.option("machine").ParseProps("", machine)
	if err != nil {
		return die("%s", strings.TrimSuffix(err.Error(), "\n"))
	}
	bits := props.Get("aw-bits")
	width, _ := strconv.ParseFloat(bits, 64)
	switch {
	case props.Get("viommu") == "intel" && !strings.Contains(props.Get("type"), "q35"):
		return die("to use Intel vIOMMU please set the machine type to q35")
	case props.Get("viommu") == "intel" && truthy(bits) && width != 39 && width != 48:
		return die("Intel vIOMMU supports only 39 or 48 bits as address width")
	case truthy(bits) && props.Get("viommu") == "":
		return die("cannot set aw-bits if no vIOMMU is configured")
	}
	return nil
}

// confidential is the kind of memory encryption: std, es, snp, tdx or "".
func (c Conf) confidential() string {
	for _, key := range []string{"amd-sev", "intel-tdx"} {
		if v := c[key]; truthy(v) {
			kind, _ := property(v, "type", "type")
			return kind
		}
	}
	return ""
}

// efiVars is the size of the EFI variables that a VM's disk for them holds.
func (c Conf) efiVars(disk drive) int64 {
	switch kind := c.confidential(); {
	case c["arch"] == "aarch64":
		return 64 << 20
	case kind == "std" || kind == "es" || disk.opt("efitype") == "4m":
		return 528 << 10
	}
	return 128 << 10
}

// fixedSize is the size that a disk has whatever it was made from; 0 if it
// has none of its own.
func (c Conf) fixedSize(disk drive) int64 {
	switch disk.key {
	case "efidisk0":
		return c.efiVars(disk)
	case "tpmstate0":
		return tpmStateSize
	}
	return 0
}

// checkClipboard refuses a clipboard that the display can't do.
func checkClipboard(vga string) error {
	if clip, _ := property(vga, "clipboard", ""); clip != "vnc" {
		return nil
	}
	typ, _ := property(vga, "type", "type")
	for _, can := range []string{"std", "cirrus", "vmware", "virtio", "qxl"} {
		if typ == "" || strings.HasPrefix(typ, can) {
			return nil
		}
	}
	return die("vga type %s is not compatible with VNC clipboard", typ)
}
