//go:build linux

package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/proxplane/proxplane/firstboot/hookblock"
)

// There are two programs of this name: the older one is part of QEMU and
// written in C, the newer one in Rust. Their options differ.
type virtiofsd struct {
	program string
	old     bool
}

// virtiofsdPaths are where distributions and people put it. Debian 12 has the
// old one.
var virtiofsdPaths = []string{"/usr/libexec/virtiofsd", "/usr/local/bin/virtiofsd", "/usr/lib/qemu/virtiofsd"}

// findVirtiofsd finds the daemon, and out which one it is.
func (h *Host) findVirtiofsd(ctx context.Context, policy Policy) (virtiofsd, error) {
	paths := virtiofsdPaths
	if policy.Virtiofsd != "" {
		paths = []string{policy.Virtiofsd}
	}
	for _, path := range paths {
		program, err := trustedPath("/", path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return virtiofsd{}, err
		}
		help, err := exec.CommandContext(ctx, program, "--help").CombinedOutput()
		switch text := string(help); {
		case strings.Contains(text, "--shared-dir"):
			return virtiofsd{program, false}, nil
		case strings.Contains(text, "-o source="):
			return virtiofsd{program, true}, nil
		}
		return virtiofsd{}, fmt.Errorf("%s isn't a virtiofsd that we know: %.200q, %w", path, help, err)
	}
	return virtiofsd{}, fmt.Errorf("virtiofsd isn't installed (looked for %s): apt install virtiofsd", strings.Join(paths, ", "))
}

// args are the options to share a directory.
func (v virtiofsd) args(share hookblock.Share, dir, socket string) ([]string, error) {
	if v.old {
		return oldArgs(share, dir, socket)
	}
	args := []string{"--socket-path=" + socket, "--shared-dir=" + dir, "--announce-submounts"}
	if share.Cache != "" {
		args = append(args, "--cache="+share.Cache)
	}
	return append(args, switches(share, "--allow-direct-io", "--xattr", "--posix-acl")...), nil
}

// switches are the names of those that are on.
func switches(share hookblock.Share, directIO, xattr, acl string) []string {
	var on []string
	if share.DirectIO {
		on = append(on, directIO)
	}
	if share.XAttr || share.ACL { // ACLs are attributes
		on = append(on, xattr)
	}
	if share.ACL {
		on = append(on, acl)
	}
	return on
}

func oldArgs(share hookblock.Share, dir, socket string) ([]string, error) {
	if strings.ContainsAny(dir, `,\`) {
		return nil, fmt.Errorf("the old virtiofsd can't share %s", dir)
	}
	options := []string{"source=" + dir, "announce_submounts"}
	switch share.Cache {
	case "":
	case "metadata":
		return nil, errors.New("the old virtiofsd knows no cache=metadata; install the one written in Rust (Debian 13, or Proxmox VE 8.4: apt install virtiofsd), or choose another cache")
	case "never":
		options = append(options, "cache=none")
	default:
		options = append(options, "cache="+share.Cache)
	}
	options = append(options, switches(share, "allow_direct_io", "xattr", "posix_acl")...)
	return []string{"-f", "--socket-path=" + socket, "-o", strings.Join(options, ",")}, nil
}
