package prop

import (
	"strings"
)

// HostPCI is a PCI device of the node, given to the VM: hostpci0, hostpci1 …
type HostPCI struct {
	Host      []string  // addresses "0000:01:00.0", or
	Mapping   string    // the name of a mapping
	PCIe      bool      // needs the q35 machine
	ROMBar    Opt[bool] // absent: true
	ROMFile   string
	XVGA      bool
	LegacyIGD bool
	MDev      string
	Driver    string // "keep"; absent: "vfio"
	Rest
}

var hostPCIForm = form{name: "PCI device", key: "host"}

func (h *HostPCI) fields() []field {
	return []field{
		words("host", &h.Host).comparedBy(withDomain),
		bind("driver", &h.Driver, text).or("vfio"),
		flag("legacy-igd", &h.LegacyIGD),
		bind("mapping", &h.Mapping, text),
		bind("mdev", &h.MDev, text),
		flag("pcie", &h.PCIe),
		optFlag("rombar", &h.ROMBar).or("1"),
		bind("romfile", &h.ROMFile, text),
		flag("x-vga", &h.XVGA),
	}
}

// withDomain completes PCI addresses: 01:00.0 is 0000:01:00.0.
func withDomain(s string) string {
	ws := splitWords(s)
	for i, w := range ws {
		if strings.Count(w, ":") == 1 {
			ws[i] = "0000:" + w
		}
	}
	return strings.Join(ws, ";")
}

// ParseHostPCI parses the value of a hostpci key.
func ParseHostPCI(s string) (HostPCI, error) {
	var h HostPCI
	if err := hostPCIForm.read(s, h.fields(), &h.Rest); err != nil {
		return HostPCI{}, err
	}
	return h, nil
}

func (h HostPCI) String() string { return hostPCIForm.write(h.fields(), h.Rest) }

// Equal reports whether both give the VM the same.
func (h HostPCI) Equal(o HostPCI) bool { return equal(h.fields(), o.fields(), h.Rest, o.Rest) }

// USB is a USB device of the node, given to the VM: usb0, usb1 …
type USB struct {
	Host    string // "1234:5678", "1-2.3" or "spice", or
	Mapping string // the name of a mapping
	USB3    bool
	Rest
}

var usbForm = form{name: "USB device", key: "host"}

func (u *USB) fields() []field {
	return []field{
		bind("host", &u.Host, text).comparedBy(strings.ToLower),
		bind("mapping", &u.Mapping, text),
		flag("usb3", &u.USB3),
	}
}

// ParseUSB parses the value of a usb key.
func ParseUSB(s string) (USB, error) {
	var u USB
	if err := usbForm.read(s, u.fields(), &u.Rest); err != nil {
		return USB{}, err
	}
	return u, nil
}

func (u USB) String() string { return usbForm.write(u.fields(), u.Rest) }

// Equal reports whether both give the VM the same.
func (u USB) Equal(o USB) bool { return equal(u.fields(), o.fields(), u.Rest, o.Rest) }

// VirtioFS is a directory of the node, shared with the VM: virtiofs0, virtiofs1 …
type VirtioFS struct {
	DirID       string // the name of a directory mapping, and the tag to mount in the guest
	Cache       string // "always", "metadata", "never"; absent: "auto"
	DirectIO    bool
	ExposeXattr bool
	ExposeACL   bool // includes xattr
	Rest
}

var virtioFSForm = form{name: "virtiofs", key: "dirid", need: []string{"dirid"}}

func (v *VirtioFS) fields() []field {
	return []field{
		bind("dirid", &v.DirID, text),
		bind("cache", &v.Cache, text).or("auto"),
		flag("direct-io", &v.DirectIO),
		flag("expose-acl", &v.ExposeACL),
		flag("expose-xattr", &v.ExposeXattr),
	}
}

// ParseVirtioFS parses the value of a virtiofs key.
func ParseVirtioFS(s string) (VirtioFS, error) {
	var v VirtioFS
	if err := virtioFSForm.read(s, v.fields(), &v.Rest); err != nil {
		return VirtioFS{}, err
	}
	return v, nil
}

func (v VirtioFS) String() string { return virtioFSForm.write(v.fields(), v.Rest) }

// Equal reports whether both share the same directory in the same way.
func (v VirtioFS) Equal(o VirtioFS) bool {
	v.ExposeXattr = v.ExposeXattr || v.ExposeACL
	o.ExposeXattr = o.ExposeXattr || o.ExposeACL
	return equal(v.fields(), o.fields(), v.Rest, o.Rest)
}
