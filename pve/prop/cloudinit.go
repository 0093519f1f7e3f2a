package prop

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// CICustom are files that replace what Proxmox would give cloud-init: cicustom.
// Each is the volume id of a snippet.
type CICustom struct {
	Meta    string
	Network string
	User    string
	Vendor  string
	Rest
}

var ciCustomForm = form{name: "cicustom"}

func (c *CICustom) fields() []field {
	return []field{
		bind("meta", &c.Meta, volume),
		bind("network", &c.Network, volume),
		bind("user", &c.User, volume),
		bind("vendor", &c.Vendor, volume),
	}
}

var volume = codec[string]{
	parse: func(s string) (string, error) {
		_, err := ParseVolumeID(s)
		return s, err
	},
	print: text.print,
}

// ParseCICustom parses the value of cicustom.
func ParseCICustom(s string) (CICustom, error) {
	var c CICustom
	if err := ciCustomForm.read(s, c.fields(), &c.Rest); err != nil {
		return CICustom{}, err
	}
	return c, nil
}

func (c CICustom) String() string { return ciCustomForm.write(c.fields(), c.Rest) }

// Equal reports whether both name the same files.
func (c CICustom) Equal(o CICustom) bool { return equal(c.fields(), o.fields(), c.Rest, o.Rest) }

// SSHKeys are public keys, one a line of authorized_keys: sshkeys.
type SSHKeys []string

// What encodeURIComponent of a browser leaves as it is, and %.
var urlEncoded = regexp.MustCompile(`^[-%a-zA-Z0-9_.!~*'()]*$`)

// ParseSSHKeys parses the value of sshkeys.
func ParseSSHKeys(s string) (SSHKeys, error) {
	if !urlEncoded.MatchString(s) {
		return nil, fmt.Errorf("parse sshkeys: not URL-encoded")
	}
	lines, err := url.PathUnescape(s)
	if err != nil {
		return nil, fmt.Errorf("parse sshkeys: %w", err)
	}
	return NewSSHKeys(strings.Split(lines, "\n")...), nil
}

// NewSSHKeys makes a list of keys, without empty lines.
func NewSSHKeys(lines ...string) SSHKeys {
	var keys SSHKeys
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			keys = append(keys, line)
		}
	}
	return keys
}

// String encodes the keys as Proxmox wants them: URL-encoded, with %20 for a
// space. That is the value of the parameter, so in a form it is encoded once
// more.
func (k SSHKeys) String() string {
	s := url.QueryEscape(strings.Join(NewSSHKeys(k...), "\n"))
	return strings.ReplaceAll(s, "+", "%20")
}

// Equal reports whether both are the same keys in the same order.
func (k SSHKeys) Equal(o SSHKeys) bool { return slices.Equal(NewSSHKeys(k...), NewSSHKeys(o...)) }
