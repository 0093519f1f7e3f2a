package pvesim

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
)

var hashedPassword = regexp.MustCompile(`^\$(?:[156]|2[ay])(\$.+){2}`)

// hidePassword hashes a password for cloud-init, unless it is hashed already
// or for Windows, which needs it as it is.
func (s *Sim) hidePassword(vmid int, password, ostype string) string {
	if windowsVersion(ostype) > 0 || hashedPassword.MatchString(password) {
		return password
	}
	salt := base64.StdEncoding.EncodeToString(s.random("salt", strconv.Itoa(vmid)))[:8]
	return sha256Crypt(password, strings.ReplaceAll(salt, "+", "X"))
}

// sha256Crypt is crypt(3) with "$5$".
func sha256Crypt(password, salt string) string {
	const rounds = 5000
	p, sl := []byte(password), []byte(salt)
	sum := func(parts ...[]byte) []byte {
		h := sha256.Sum256(bytes.Join(parts, nil))
		return h[:]
	}
	// fill repeats a hash to a length.
	fill := func(hash []byte, n int) []byte { return bytes.Repeat(hash, n/32+1)[:n] }

	b := sum(p, sl, p)
	first := [][]byte{p, sl, fill(b, len(p))}
	for n := len(p); n > 0; n >>= 1 {
		if n&1 != 0 {
			first = append(first, b)
		} else {
			first = append(first, p)
		}
	}
	a := sum(first...)
	pBytes := fill(sum(bytes.Repeat(p, len(p))), len(p))
	sBytes := fill(sum(bytes.Repeat(sl, 16+int(a[0]))), len(sl))
	for i := range rounds {
		var parts [][]byte
		if i%2 != 0 {
			parts = append(parts, pBytes)
		} else {
			parts = append(parts, a)
		}
		if i%3 != 0 {
			parts = append(parts, sBytes)
		}
		if i%7 != 0 {
			parts = append(parts, pBytes)
		}
		if i%2 != 0 {
			parts = append(parts, a)
		} else {
			parts = append(parts, pBytes)
		}
		a = sum(parts...)
	}
	return "$5$" + salt + "$" + cryptText(a)
}

// cryptText writes a SHA-256 hash in crypt's order and alphabet.
func cryptText(a []byte) string {
	const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var out strings.Builder
	put := func(b2, b1, b0 byte, n int) {
		w := uint(b2)<<16 | uint(b1)<<8 | uint(b0)
		for range n {
			out.WriteByte(alphabet[w&0x3f])
			w >>= 6
		}
	}
	for i, j, k := 0, 10, 20; ; i, j, k = k+1, i+1, j+1 {
		put(a[i], a[j], a[k], 4)
		if i == 9 {
			break
		}
	}
	put(0, a[31], a[30], 3)
	return out.String()
}
