package model

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Secret describes a secret of a guest that can't be read back from Proxmox: a password,
// first-boot data. It never leaves the process.
type Secret struct {
	Kind string // kind of secret
	Sum  string // a digest of all of it
	// Basis is a digest of the parts that people wrote, which several guests may have in
	// common.
	Basis string
	Slow  string // see [Slow]; empty: not computed yet
	// Random says that Basis contains something that can't be guessed, such as a token for this guest alone:
	// hashing needn't be slow.
	Random bool
	Plain  string // its mark in markers of earlier versions
}

// Kinds of secrets.
const (
	FirstBoot     = "first-boot data"
	GuestPassword = "password"
)

// Seal is a keyed or slow hash of a secret for storage in Proxmox, where many may read it.
// With the secret, and the key if there is one, it shows whether a guest has the wanted
// secret.
type Seal struct {
	Mark string `json:",omitempty"` // the mark that is stored
	// Also are marks of the same secret by other keys and earlier versions. A mark that ends
	// with a dot matches all that begin with it.
	Also []string `json:",omitempty"`
}

// What marks begin with. Those of earlier versions are digests alone.
const (
	keyedMark = "k" // and the ID of the key
	slowMark  = "s"
	markDot   = "."
)

// Seal makes the seal of a guest's secret. With a key, nobody without it can test a guess.
// Without one, each guess takes as long as [Slow] does.
func (k Keys) Seal(o Owner, s Secret) Seal {
	var all []string
	for _, key := range k {
		if id, lost := lostKey(key); lost {
			all = append(all, keyedMark+id+markDot)
		} else {
			all = append(all, keyedMark+keyID(key)+markDot+sealed(key, o, s))
		}
	}
	slow := []byte(s.Slow)
	if len(slow) == 0 {
		slow = Slow(o, s)
	}
	all = append(all, slowMark+markDot+sealed(slow, o, s))
	if s.Plain != "" {
		all = append(all, s.Plain)
	}
	first := slices.IndexFunc(all, func(mark string) bool { return !strings.HasSuffix(mark, markDot) })
	seal := Seal{Mark: all[first]}
	seal.Also = slices.Delete(all, first, first+1)
	return seal
}

// sealed is different for each guest, so that nobody sees which ones have the same secret.
func sealed(key []byte, o Owner, s Secret) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("proxplane " + s.Kind + "\x00" + o.ID() + "\x00" + s.Sum))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// SlowRounds is how often a secret is hashed where there is no key: some 25 ms of a CPU.
const SlowRounds = 100_000

// Slow derives a key from the secret itself, slowly, unless it is random. Guests that are applied together and
// have the same texts share it.
func Slow(o Owner, s Secret) []byte {
	salt := strings.Join([]string{"proxplane", s.Kind, o.Door, o.Set, o.Namespace}, "\x00")
	rounds := SlowRounds
	if s.Random {
		rounds = 1
	}
	key, err := pbkdf2.Key(sha256.New, s.Basis, []byte(salt), rounds, sha256.Size)
	if err != nil {
		panic(err) // the lengths are good
	}
	return key
}

// Match is the result of comparing a mark with a secret.
type Match string

// The results.
const (
	SameSecret  Match = "same"
	OtherSecret Match = "other"
	NoKeyFor    Match = "unknown" // it was made with a key that isn't here
)

// Match compares a mark with the secret.
func (s Seal) Match(mark string) Match {
	switch {
	case mark == s.Mark:
		return SameSecret
	case slices.ContainsFunc(s.Also, func(a string) bool { return a == mark || strings.HasSuffix(a, markDot) && strings.HasPrefix(mark, a) }):
		return SameSecret
	}
	id := MarkKey(mark)
	if id == "" || slices.ContainsFunc(append([]string{s.Mark}, s.Also...), func(a string) bool { return MarkKey(a) == id }) {
		return OtherSecret
	}
	return NoKeyFor
}

// MarkKey returns the ID of the key that a mark was made with; empty: none.
func MarkKey(mark string) string {
	id, _, keyed := strings.Cut(mark, markDot)
	if !keyed || !strings.HasPrefix(id, keyedMark) {
		return ""
	}
	return strings.TrimPrefix(id, keyedMark)
}

// digits returns the digits of a mark, for names.
func digits(mark string) string {
	const enough = 12
	mark = mark[strings.LastIndex(mark, markDot)+1:]
	return mark[:min(len(mark), enough)]
}

// PasswordSecret returns the Secret of a password.
func PasswordSecret(password string) Secret {
	sum := sha256.Sum256([]byte("proxplane cipassword\x00" + password))
	return Secret{Kind: GuestPassword, Sum: password, Basis: password, Plain: hex.EncodeToString(sum[:6])}
}
