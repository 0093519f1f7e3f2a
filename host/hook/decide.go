//go:build linux

package hook

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/firstboot/qemuarg"
)

// step is something to be done for a VM.
type step struct {
	ignition *ignitionStep
	shares   []hookblock.Share
	script   string // volume of a hookscript
}

type ignitionStep struct {
	volume string
	files  []string // where args have QEMU look for it
}

// The helpers of the Terraform module for Flatcar: what they did, the hook does
// itself.
const (
	ignitionHelper = "cloudinit-to-ignition"
	virtiofsHelper = "virtiofsd.pl"
	multiHelper    = "multi-hookscript.pl"
)

// decide turns what a VM asks for into steps, in the order of its block. All
// that is refused is said at once. Phases other than pre-start have scripts
// only.
func decide(c vmConfig, b hookblock.Block, g grant, phase string) ([]step, error) {
	var steps []step
	var errs []error
	add := func(s step, err error) {
		if err != nil {
			errs = append(errs, err)
		} else {
			steps = append(steps, s)
		}
	}
	ignition, shares := phase == PreStart && b.CloudInit != "", phase == PreStart && len(b.Shares) > 0
	doIgnition := func() {
		if ignition {
			add(decideIgnition(c, b.CloudInit, g))
		}
		ignition = false
	}
	doShares := func() {
		if shares {
			add(decideShares(c, b.Shares, g))
		}
		shares = false
	}
	named := func(helper string) bool {
		return slices.ContainsFunc(b.HookScripts, func(volid string) bool { return path.Base(volid) == helper })
	}
	if !named(ignitionHelper) {
		doIgnition()
	}
	if !named(virtiofsHelper) {
		doShares()
	}
	for _, volid := range b.HookScripts {
		switch path.Base(volid) {
		case ignitionHelper:
			doIgnition()
		case virtiofsHelper:
			doShares()
		case multiHelper:
		default:
			add(decideScript(c, volid, g))
		}
	}
	return steps, errors.Join(errs...)
}

// refusal is something that a VM may not have.
type refusal struct{ text string }

func (r refusal) Error() string { return "refused: " + r.text }

func refuse(format string, args ...any) error {
	return refusal{fmt.Sprintf(format, args...)}
}

func decideScript(c vmConfig, volid string, g grant) (step, error) {
	if volid == c.options["hookscript"] {
		return step{}, refuse("%s is the VM's own hookscript, and can't call itself", volid)
	}
	if !g.script(volid) {
		return step{}, refuse("no rule in %s lets VM %d run %s", PolicyFile, c.vmid, volid)
	}
	return step{script: volid}, nil
}

func decideIgnition(c vmConfig, volid string, g grant) (step, error) {
	if !g.seed(volid, c.attached(volid)) {
		return step{}, refuse("no rule in %s lets VM %d have an Ignition file from %s", PolicyFile, c.vmid, volid)
	}
	files, err := c.qemuFiles()
	if err != nil {
		return step{}, err
	}
	s := &ignitionStep{volume: volid}
	for _, file := range files.firmware {
		if slices.Contains(ignitionFiles(c.vmid), file) && !slices.Contains(s.files, file) {
			s.files = append(s.files, file)
		}
	}
	if len(s.files) == 0 {
		return step{}, fmt.Errorf("the VM's args don't have QEMU read the Ignition file: they need %s",
			qemuarg.Option("-fw_cfg", qemuarg.Param{Key: "name", Value: "opt/org.flatcar-linux/config"}, qemuarg.Param{Key: "file", Value: hookblock.IgnitionFile(c.vmid)}))
	}
	return step{ignition: s}, nil
}

// ignitionFiles are where a VM's Ignition file may be: our own place, and that of
// the Terraform module.
func ignitionFiles(vmid int) []string {
	return []string{hookblock.IgnitionFile(vmid), fmt.Sprintf("/etc/pve/local/ignition/%d.ign", vmid)}
}

// socketDirs are where sockets of shares may be: our own place, and that of the
// Terraform module.
var socketDirs = []string{path.Dir(hookblock.Socket(0, 0)), "/run/virtiofs"}

func decideShares(c vmConfig, list []hookblock.Share, g grant) (step, error) {
	files, err := c.qemuFiles()
	if err != nil {
		return step{}, err
	}
	var s step
	var errs []error
	used := map[string]bool{}
	for i, share := range list {
		ok, readOnly := g.share(share.Path)
		switch {
		case !ok:
			errs = append(errs, refuse("no rule in %s lets VM %d share %s", PolicyFile, c.vmid, share.Path))
		case !ownSocket(c.vmid, share.Socket):
			errs = append(errs, refuse("%s can't be a socket of VM %d; %s can", share.Socket, c.vmid, hookblock.Socket(c.vmid, i)))
		case used[share.Socket]:
			errs = append(errs, fmt.Errorf("two shares have the socket %s", share.Socket))
		case !slices.Contains(files.sockets, share.Socket):
			errs = append(errs, fmt.Errorf("the VM's args don't have QEMU use the share of %s: they need a -chardev socket with path=%s", share.Path, share.Socket))
		}
		used[share.Socket] = true
		share.ReadOnly = share.ReadOnly || readOnly
		s.shares = append(s.shares, share)
	}
	return s, errors.Join(errs...)
}

// ownSocket reports whether a path is one of those for the sockets of a VM. No
// other is a place to make anything, or to remove it.
func ownSocket(vmid int, socket string) bool {
	digits, ok := strings.CutPrefix(path.Base(socket), fmt.Sprintf("vm%d-fs", vmid))
	index, err := strconv.Atoi(digits)
	return ok && err == nil && index >= 0 && strconv.Itoa(index) == digits && slices.Contains(socketDirs, path.Dir(socket))
}
