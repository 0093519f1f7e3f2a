package spec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/firstboot/qemuarg"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Filesystem is a directory of the nodes that a machine shares.
type Filesystem struct {
	Type          string // virtiofs or 9p
	Source        string // directory of the node
	Tag           string // by which the guest mounts it
	ReadOnly      bool
	Via           string // native or hook
	Cache         string
	DirectIO      bool
	XAttr         bool
	ACL           bool
	SecurityModel string
	Multidevs     string
}

// host is what a machine asks of its node that Proxmox' options have no words
// for: it goes by arguments for QEMU, and by the hook.
type host struct {
	block  hookblock.Block
	args   []string
	shared bool // the guest's memory is shared with daemons
	why    []string
}

// ask puts what is asked of the node into the options and the description.
func (b *build) ask(vm *model.VM, m *Machine) {
	b.filesystems(vm, m.Filesystems)
	b.hookscripts(m)
	h := &b.host
	block, script := h.block, b.cluster.hook()
	if err := block.Check(); err != nil {
		b.fail("", "%v", err)
	}
	switch {
	case block.IsZero():
		script = ""
	case block.CloudInit == "" && len(block.Shares) == 0 && len(block.HookScripts) == 1:
		// Proxmox itself can run a single one.
		script, block = block.HookScripts[0], hookblock.Block{}
	}
	if script != "" {
		vm.Scripts = append([]string{script}, block.HookScripts...)
		b.opts.set("hookscript", script)
		if _, said := m.ExtraConfig["hookscript"]; said {
			b.fail("extraConfig.hookscript", "goes under %s: this machine needs proxplane's hook, which runs them all", inMachine("hookscripts"))
		}
	}
	vm.Hook = textOf(block.String())
	if n := len(vm.At(MaxVMID).Description); n > maxNotes {
		b.fail("description", "has %d bytes with what the hook needs to know, more than the %d that there is room for", n, maxNotes)
	}
	if len(h.args) > 0 {
		b.opts.set("args", strings.TrimSpace(b.opts["args"]+" "+qemuarg.Line(h.args...)))
	}
	vm.RootFor = h.why
}

// maxNotes leaves room for the marker of a guest that has much.
const maxNotes = maxDescription + 1<<10

func (b *build) hookscripts(m *Machine) {
	if len(m.Hookscripts) > 0 {
		b.host.why = append(b.host.why, "hookscripts")
	}
	for _, key := range []string{"args", "hookscript"} {
		if _, said := m.ExtraConfig[key]; said {
			b.host.why = append(b.host.why, "extraConfig."+key)
		}
	}
	for i, script := range m.Hookscripts {
		field := fmt.Sprintf("hookscripts[%d]", i)
		if err := (hookblock.Block{HookScripts: []string{script}}).Check(); err != nil {
			b.fail(field, "want a volume such as local:snippets/notify.sh, have %q", suggest.Shortened(script))
			continue
		}
		if slices.Contains(m.Hookscripts[:i], script) {
			b.fail(field, "%s is there twice", script)
			continue
		}
		b.host.block.HookScripts = append(b.host.block.HookScripts, script)
	}
}

// What tags there can be: Proxmox' names for mappings, and as long as the devices
// take.
var shareTag = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{1,30}$`)

// maxShares is how many directories Proxmox shares with a guest by virtiofs.
const maxShares = 10

func (b *build) filesystems(vm *model.VM, list []Filesystem) {
	native := 0
	for i, f := range list {
		field := fmt.Sprintf("filesystems[%d]", i)
		if !b.checkFilesystem(field, f) {
			continue
		}
		if slices.ContainsFunc(list[:i], func(o Filesystem) bool { return o.Tag == f.Tag }) {
			b.fail(field+".tag", "%s is there twice", f.Tag)
			continue
		}
		switch {
		case f.Type == "9p":
			b.plan9(i, f)
			b.host.why = append(b.host.why, fmt.Sprintf("filesystems[%d] (9p)", i))
		case f.Via == "hook" || f.ReadOnly:
			b.hookShare(field, f)
			b.host.why = append(b.host.why, fmt.Sprintf("filesystems[%d] (%s)", i, viaHook(f)))
		case native == maxShares:
			b.fail(field, "Proxmox shares at most %d directories with a machine", maxShares)
		default:
			b.nativeShare(field, native, vm, f)
			native++
		}
	}
}

// viaHook says why a directory is shared by the hook.
func viaHook(f Filesystem) string {
	if f.Via == "" {
		return "readOnly"
	}
	return "via: hook"
}

func (b *build) checkFilesystem(field string, f Filesystem) bool {
	before := len(b.errs)
	if f.Type == "" {
		b.fail(field+".type", "is missing: virtiofs or 9p")
	}
	b.checkWord(field+".type", f.Type, "virtiofs", "9p")
	b.checkWord(field+".via", f.Via, "native", "hook")
	b.checkWord(field+".cache", f.Cache, hookblock.Caches...)
	b.checkWord(field+".securityModel", f.SecurityModel, "mapped-xattr", "mapped-file", "passthrough", "none")
	b.checkWord(field+".multidevs", f.Multidevs, "remap", "forbid", "warn")
	switch {
	case f.Source == "":
		b.fail(field+".source", "is missing")
	case !strings.HasPrefix(f.Source, "/") || path.Clean(f.Source) != f.Source || f.Source == "/":
		b.fail(field+".source", "want a directory of the node such as /srv/data, have %q", suggest.Shortened(f.Source))
	case qemuarg.Check(f.Source) != nil:
		b.fail(field+".source", "%v", qemuarg.Check(f.Source))
	}
	switch {
	case f.Tag == "":
		b.fail(field+".tag", "is missing")
	case !shareTag.MatchString(f.Tag):
		b.fail(field+".tag", "want 2 to 31 letters, digits, - and _, a letter first, have %q", suggest.Shortened(f.Tag))
	}
	plan9 := f.Type == "9p"
	for _, only := range []struct {
		set    bool
		name   string
		plan9  bool
		reason string
	}{
		{f.Via != "", "via", false, "is for virtiofs"},
		{f.Cache != "", "cache", false, "is for virtiofs"},
		{f.DirectIO, "directIO", false, "is for virtiofs"},
		{f.XAttr, "xattr", false, "is for virtiofs"},
		{f.ACL, "acl", false, "is for virtiofs"},
		{f.SecurityModel != "", "securityModel", true, "is for 9p"},
		{f.Multidevs != "", "multidevs", true, "is for 9p"},
	} {
		if only.set && only.plan9 != plan9 {
			b.fail(field+"."+only.name, "%s", only.reason)
		}
	}
	if f.ReadOnly && f.Via == "native" {
		b.fail(field+".readOnly", "Proxmox' own virtiofs can't do that; say via: hook, or type: 9p")
	}
	return len(b.errs) == before
}

// plan9 shares a directory by an argument alone: QEMU itself serves it.
func (b *build) plan9(n int, f Filesystem) {
	security, devices := f.SecurityModel, f.Multidevs
	if security == "" {
		security = "mapped-xattr"
	}
	if devices == "" {
		devices = "warn"
	}
	params := []qemuarg.Param{
		{Value: "local"}, {Key: "path", Value: f.Source}, {Key: "mount_tag", Value: f.Tag}, {Key: "security_model", Value: security},
		{Key: "id", Value: "p9fs" + strconv.Itoa(n)}, {Key: "multidevs", Value: devices},
	}
	if f.ReadOnly {
		params = append(params, qemuarg.Param{Key: "readonly", Value: "on"})
	}
	b.host.args = append(b.host.args, qemuarg.Option("-virtfs", params...))
}

// hookShare shares a directory by a daemon that the hook starts. It reads the
// guest's memory, which has to be of a kind that can be shared.
func (b *build) hookShare(field string, f Filesystem) {
	h := &b.host
	n := len(h.block.Shares)
	h.block.Shares = append(h.block.Shares, hookblock.Share{
		Path: f.Source, Socket: hookblock.Socket(ownVMID, n), Cache: f.Cache, DirectIO: f.DirectIO, ReadOnly: f.ReadOnly, XAttr: f.XAttr, ACL: f.ACL,
	})
	if !h.shared {
		h.shared = true
		if b.opts["numa"] == "1" || b.opts["hugepages"] != "" {
			b.fail(field, "the hook can't share the memory of a machine with NUMA, memory hotplug or huge pages")
		}
		const backend = "virtiofs-mem"
		h.args = append(h.args,
			qemuarg.Option("-object", qemuarg.Param{Value: "memory-backend-memfd"}, qemuarg.Param{Key: "id", Value: backend},
				qemuarg.Param{Key: "size", Value: b.memory() + "M"}, qemuarg.Param{Key: "share", Value: "on"}),
			qemuarg.Option("-machine", qemuarg.Param{Key: "memory-backend", Value: backend}))
	}
	id := "virtfs" + strconv.Itoa(n)
	h.args = append(h.args,
		qemuarg.Option("-chardev", qemuarg.Param{Value: "socket"}, qemuarg.Param{Key: "id", Value: id}, qemuarg.Param{Key: "path", Value: hookblock.Socket(ownVMID, n)}),
		qemuarg.Option("-device", qemuarg.Param{Value: "vhost-user-fs-pci"}, qemuarg.Param{Key: "queue-size", Value: "1024"},
			qemuarg.Param{Key: "chardev", Value: id}, qemuarg.Param{Key: "tag", Value: f.Tag}))
}

// memory is how many MiB the machine has.
func (b *build) memory() string {
	const proxmoxDefault = "512"
	if m := b.opts["memory"]; m != "" {
		return strings.TrimPrefix(m, "current=")
	}
	return proxmoxDefault
}

// nativeShare shares a directory by Proxmox' own means: by its mapping.
func (b *build) nativeShare(field string, n int, vm *model.VM, f Filesystem) {
	if strings.ContainsAny(f.Source, ";,=()") {
		b.fail(field+".source", "Proxmox' mappings take no ; , = ( ) in paths; say via: hook")
	}
	if strings.Contains(b.opts["hotplug"], "memory") {
		b.fail(field, "Proxmox can't share directories with machines whose memory can be plugged: turn %s of the %s off", called("hotplugMemory"), TheClass)
	}
	v := prop.VirtioFS{DirID: f.Tag, Cache: f.Cache, DirectIO: f.DirectIO, ExposeXattr: f.XAttr, ExposeACL: f.ACL}
	b.option(b.opts, field, "virtiofs"+strconv.Itoa(n), v.String())
	vm.Shares = append(vm.Shares, f.Tag)
	b.shares = append(b.shares, share{field, f.Tag, f.Source})
}
