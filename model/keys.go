package model

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Keys sign markers, so that a marker proves the owner of a guest also under a VMID that
// isn't the owner's. The first key signs and all of them verify, so that keys can be
// rotated. Without keys nothing is signed. Lost keys are listed by their IDs: their
// signatures count as none.
type Keys [][]byte

// Signature is the result of verifying a marker.
type Signature string

// The results.
const (
	Unsigned Signature = ""
	Signed   Signature = "signed"      // valid, by the key that we sign with
	Before   Signature = "before"      // valid, by another key of ours, which is being rotated out
	OtherKey Signature = "another key" // by a key that we don't have
	Forged   Signature = "forged"      // it names a key of ours and is wrong
)

// MinKey is the minimal length of a key.
const MinKey = 32

// ParseKeys reads keys, one a line. Its errors don't contain them.
func ParseKeys(text string) (Keys, error) {
	var keys, lost Keys
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, lostPrefix):
			if !lostLine.MatchString(line) {
				return nil, fmt.Errorf("line %d: want %sand the 8 digits of the key's ID, which plan shows", i+1, lostPrefix)
			}
			lost = append(lost, []byte(line))
		case len(line) < MinKey:
			return nil, fmt.Errorf("the key in line %d has fewer than %d characters; openssl rand -hex 32 makes a good one", i+1, MinKey)
		default:
			keys = append(keys, []byte(line))
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key; openssl rand -hex 32 makes a good one")
	}
	return append(keys, lost...), nil
}

// Lines of a key that is lost: "lost 1a2b3c4d". They are shorter than keys are.
const lostPrefix = "lost "

var lostLine = regexp.MustCompile(`^lost [0-9a-f]{8}$`)

// lostKey returns the ID of a key that is lost.
func lostKey(line []byte) (id string, lost bool) {
	if !lostLine.Match(line) {
		return "", false
	}
	return string(line[len(lostPrefix):]), true
}

// Sign signs the marker in a description, if there are a key and a marker.
func (k Keys) Sign(description string) string {
	text, m, ok := ParseDescription(description)
	if !ok || len(k) == 0 {
		return description
	}
	m.Sig = keyID(k[0]) + "." + mac(k[0], m)
	return Describe(text, m)
}

// Verify verifies the signature of a marker. The VMID is signed, too, so that a signature
// is valid for one guest only.
func (k Keys) Verify(m *Marker) Signature {
	if m == nil || m.Sig == "" || m.VMID == 0 {
		return Unsigned
	}
	id, sum, _ := strings.Cut(m.Sig, ".")
	at := slices.IndexFunc(k, func(key []byte) bool { return keyID(key) == id })
	lost := slices.ContainsFunc(k, func(key []byte) bool { is, lost := lostKey(key); return lost && is == id })
	switch {
	case lost:
		return Unsigned
	case at < 0:
		return OtherKey
	case !hmac.Equal([]byte(sum), []byte(mac(k[at], *m))):
		return Forged
	case at > 0:
		return Before
	}
	return Signed
}

// Proves reports whether only somebody with a key of ours can have written the marker.
func (s Signature) Proves() bool { return s == Signed || s == Before }

// keyID identifies a key and reveals nothing else about it.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("proxplane key id\x00"), key...))
	return hex.EncodeToString(sum[:4])
}

func mac(key []byte, m Marker) string {
	m.Sig, m.Managed = "", slices.Sorted(slices.Values(m.Managed))
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // plain strings only
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("proxplane marker\x00"))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
