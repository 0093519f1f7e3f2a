package pvesim

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/binary"
	"math/big"
	"strings"
)

// checkSSHKeys does what Proxmox has ssh-keygen do with each line.
func checkSSHKeys(escaped string) error {
	for line := range strings.SplitSeq(unescapePercent(escaped), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !validSSHKey(line) {
			return die("SSH public key validation error")
		}
	}
	return nil
}

// unescapePercent undoes percent encoding; what isn't encoded stays.
func unescapePercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// validSSHKey reports whether a line holds a public key, possibly behind a
// word of options as in authorized_keys.
func validSSHKey(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if strings.HasPrefix(line, "#") {
		return false
	}
	return isSSHKey(line) || isSSHKey(skipWord(line))
}

// skipWord drops the first word; blanks inside double quotes belong to it.
func skipWord(line string) string {
	inQuotes := false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '"':
			i++
		case line[i] == '"':
			inQuotes = !inQuotes
		case !inQuotes && (line[i] == ' ' || line[i] == '\t'):
			return strings.TrimLeft(line[i:], " \t")
		}
	}
	return ""
}

func isSSHKey(text string) bool {
	words := strings.Fields(text)
	if len(words) < 2 {
		return false
	}
	blob, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil {
		return false
	}
	kind, rest, ok := sshString(blob)
	if !ok || string(kind) != words[0] {
		return false
	}
	return sshKeyParts(words[0], rest)
}

// sshKeyParts checks what follows the type inside a key.
func sshKeyParts(kind string, b []byte) bool {
	if strings.HasSuffix(kind, "-cert-v01@openssh.com") {
		return len(b) > 64
	}
	one, rest, ok := sshString(b)
	if !ok {
		return false
	}
	switch kind {
	case "ssh-ed25519":
		return len(one) == 32 && len(rest) == 0
	case "sk-ssh-ed25519@openssh.com":
		_, rest, ok = sshString(rest)
		return ok && len(one) == 32 && len(rest) == 0
	case "ssh-rsa":
		modulus, rest, ok := sshString(rest)
		return ok && len(rest) == 0 && new(big.Int).SetBytes(modulus).BitLen() >= 1024
	case "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ecdsa-sha2-nistp256@openssh.com":
		point, rest, ok := sshString(rest)
		if !ok || !onCurve(string(one), point) {
			return false
		}
		if strings.HasPrefix(kind, "sk-") {
			_, rest, ok = sshString(rest)
			return ok && string(one) == "nistp256" && len(rest) == 0
		}
		return strings.HasSuffix(kind, string(one)) && len(rest) == 0
	}
	return false
}

func onCurve(name string, point []byte) bool {
	curve := map[string]ecdh.Curve{"nistp256": ecdh.P256(), "nistp384": ecdh.P384(), "nistp521": ecdh.P521()}[name]
	if curve == nil {
		return false
	}
	_, err := curve.NewPublicKey(point)
	return err == nil
}

// sshString reads a length and as many bytes.
func sshString(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}
