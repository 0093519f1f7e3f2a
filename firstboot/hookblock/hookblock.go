// Package hookblock reads and writes the requests of a VM to the hook of its host: a fenced
// block in the VM's description. It also has the paths that both sides use.
//
//	```proxplane
//	cloud-init: local:iso/seed-100.iso
//	virtiofs: --path "/srv/data" --socket /run/proxplane/virtiofs/vm100-fs0
//	hook-script: local:snippets/notify.sh
//	```
//
// Whoever may edit a VM's notes may write such a block: it has requests, never permissions.
package hookblock

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/proxplane/proxplane/firstboot/qemuarg"
)

// Script is the hook's file name in a storage for snippets.
const Script = "proxplane-hook"

// IgnitionFile returns the path of a VM's Ignition file, which the hook writes. It isn't below
// /etc/pve, since all files there can be read by the web server's user.
func IgnitionFile[ID int | string](vmid ID) string {
	return fmt.Sprintf("/run/proxplane/ignition/%v.ign", vmid)
}

// Socket returns the path of the socket between QEMU and the daemon of a VM's share.
func Socket[ID int | string](vmid ID, index int) string {
	return fmt.Sprintf("/run/proxplane/virtiofs/vm%v-fs%d", vmid, index)
}

// Block has the requests of a VM to the hook.
type Block struct {
	CloudInit   string   // volume of the ISO with the Ignition file
	Shares      []Share  // directories to share by virtiofs
	HookScripts []string // volumes of further hookscripts, run in this order
	Other       []string // lines that mean something to these scripts
}

// Share is a directory that a virtiofsd is to share.
type Share struct {
	Path     string // of the directory
	Socket   string // at which QEMU connects
	Cache    string // auto, always, metadata, never; empty: the daemon's default
	DirectIO bool   // honour O_DIRECT of the guest
	ReadOnly bool
	XAttr    bool // extended attributes
	ACL      bool // POSIX ACLs
}

// Caches are the values of Share.Cache.
var Caches = []string{"auto", "always", "metadata", "never"}

// IsZero reports whether there are no requests.
func (b Block) IsZero() bool {
	return b.CloudInit == "" && len(b.Shares)+len(b.HookScripts)+len(b.Other) == 0
}

// String returns the whole fenced text, without a line break at its end. Nothing
// asked for is an empty text.
func (b Block) String() string {
	if b.IsZero() {
		return ""
	}
	lines := []string{fence + info}
	if b.CloudInit != "" {
		lines = append(lines, "cloud-init: "+b.CloudInit)
	}
	for _, s := range b.Shares {
		lines = append(lines, "virtiofs: "+s.String())
	}
	for _, script := range b.HookScripts {
		lines = append(lines, "hook-script: "+script)
	}
	lines = append(lines, b.Other...)
	return strings.Join(append(lines, fence), "\n")
}

// Check reports requests that can't be written, or that no host could fulfil.
func (b Block) Check() error {
	var errs []error
	if b.CloudInit != "" {
		errs = append(errs, checkVolume("cloud-init", "iso", b.CloudInit))
	}
	for _, script := range b.HookScripts {
		errs = append(errs, checkVolume("hook-script", "snippets", script))
	}
	for _, s := range b.Shares {
		errs = append(errs, s.check())
	}
	for _, line := range b.Other {
		if !directive.MatchString(line) || strings.ContainsFunc(line, isControl) {
			errs = append(errs, fmt.Errorf("%q isn't of the form key: value", line))
		}
	}
	return errors.Join(errs...)
}

// volume is the form of what lies in a storage that is a directory. No part of
// it can lead to another one.
var volume = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*:(iso|snippets)/([A-Za-z0-9_+=,@~()][A-Za-z0-9_+=,@~(). -]*)$`)

func checkVolume(key, content, volid string) error {
	m := volume.FindStringSubmatch(volid)
	if m == nil || m[1] != content || strings.TrimSpace(volid) != volid {
		return fmt.Errorf("%s: %q isn't a volume like local:%s/name", key, volid, content)
	}
	return nil
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// String returns what stands behind "virtiofs:".
func (s Share) String() string {
	text := "--path " + qemuarg.Quote(s.Path) + " --socket " + qemuarg.Quote(s.Socket)
	if s.Cache != "" {
		text += " --cache " + s.Cache
	}
	for _, o := range s.switches() {
		if *o.on {
			text += " --" + o.name
		}
	}
	return text
}

type option struct {
	name string
	on   *bool
}

func (s *Share) switches() []option {
	return []option{{"direct-io", &s.DirectIO}, {"read-only", &s.ReadOnly}, {"xattr", &s.XAttr}, {"posix-acl", &s.ACL}}
}
