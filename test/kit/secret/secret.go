// Package secret finds secrets in what was written somewhere, in all forms that they
// take on the way there: escaped, encoded, hashed, or only a half of them.
package secret

import (
	"crypto/md5"  //nolint:gosec // what it is looked for, it was not used for
	"crypto/sha1" //nolint:gosec // the same
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Finder knows secrets. It can be used from several goroutines.
type Finder struct {
	mu    sync.Mutex
	known []known
}

type known struct {
	name  string
	forms []form
}

type form struct{ name, text string }

// shortest is what can be found without finding it everywhere by chance.
const shortest = 8

// Add makes a secret known. The name stands for it where it was found.
func (f *Finder) Add(name, secret string) {
	if len(secret) < shortest {
		panic("the secret " + name + " is too short to be looked for")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.ContainsFunc(f.known, func(k known) bool { return k.forms[0].text == secret }) {
		f.known = append(f.known, known{name, formsOf(secret)})
	}
}

// AddLines makes the lines of a file known, such as those of a private key, but not
// those that are the same in all files.
func (f *Finder) AddLines(name, text string) {
	const telling = 20
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= telling && !strings.HasPrefix(line, "-----") {
			f.Add(name, line)
		}
	}
}

// Names are those of the secrets that are known.
func (f *Finder) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, k := range f.known {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// In says which secrets a text gives away, and in which form.
func (f *Finder) In(text string) (found []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.known {
		for _, form := range k.forms {
			if strings.Contains(text, form.text) {
				found = append(found, k.name+" "+form.name)
				break
			}
		}
	}
	return found
}

// formsOf are the forms of a secret. The first is itself.
func formsOf(secret string) []form {
	list := []form{{"as it is", secret}}
	add := func(name, text string) {
		if len(text) >= shortest && !slices.ContainsFunc(list, func(f form) bool { return f.text == text }) {
			list = append(list, form{name, text})
		}
	}
	if half := len(secret) / 2; half >= shortest+shortest/2 {
		add("by its first half", secret[:half])
		add("by its second half", secret[half:])
	}
	add("escaped for a query", url.QueryEscape(secret))
	add("escaped for a path", url.PathEscape(secret))
	inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
	inJSON := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			panic(err) // texts have a form in JSON
		}
		return inner(string(b))
	}
	quoted := inner(strconv.Quote(secret))
	add("quoted", quoted)
	add("quoted in ASCII", inner(strconv.QuoteToASCII(secret)))
	add("in JSON", inJSON(secret))
	add("in JSON in JSON", inJSON(inJSON(secret)))
	add("quoted, in JSON", inJSON(quoted))
	add("quoted, quoted", inner(strconv.Quote(quoted)))
	add("in HTML", html.EscapeString(secret))
	add("in YAML", strings.ReplaceAll(secret, "'", "''"))
	for shift := range 3 { // in a longer text that has it somewhere inside
		for name, enc := range map[string]*base64.Encoding{"in base64": base64.StdEncoding, "in base64 for URLs": base64.URLEncoding} {
			b := enc.EncodeToString(append(make([]byte, shift), secret...))
			add(name, b[4:len(b)-4])
		}
	}
	add("in hexadecimal", hex.EncodeToString([]byte(secret)))
	add("in capital hexadecimal", strings.ToUpper(hex.EncodeToString([]byte(secret))))
	for name, h := range map[string]hash.Hash{"MD5": md5.New(), "SHA-1": sha1.New(), "SHA-256": sha256.New(), "SHA-512": sha512.New()} { //nolint:gosec // as above
		fmt.Fprint(h, secret)
		sum := h.Sum(nil)
		add("as "+name, hex.EncodeToString(sum))
		add("as "+name+" in base64", strings.TrimRight(base64.StdEncoding.EncodeToString(sum), "="))
	}
	return list
}
