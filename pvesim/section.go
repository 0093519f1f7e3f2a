package pvesim

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// Much of Proxmox' configuration is sections of options: these are the ways
// in which all API calls write and show them.

// sectionKind are the options that sections of a type have: true for those
// that may be missing.
type sectionKind map[string]bool

// check refuses options that don't belong here and values that don't fit into
// a line; a new section needs all that may not be missing.
func (k sectionKind) check(sec map[string]string, create bool) error {
	for _, key := range sortedKeys(sec) {
		if _, ok := k[key]; !ok {
			return die("unexpected property '%s'", key)
		}
		if strings.ContainsAny(sec[key], "\r\n") {
			return die("property contains a line feed")
		}
	}
	for _, key := range sortedKeys(k) {
		if _, ok := sec[key]; create && !k[key] && !ok {
			return die("missing value for required option '%s'", key)
		}
	}
	return nil
}

// remove takes options out of a section.
func (k sectionKind) remove(sec map[string]string, keys []string) error {
	for _, key := range keys {
		optional, ok := k[key]
		switch {
		case !ok:
			return die("no such option '%s'", key)
		case !optional:
			return die("unable to delete required option '%s'", key)
		}
		delete(sec, key)
	}
	return nil
}

// failedAs puts what was being done before an error.
func failedAs(doing string, err error) error {
	if err == nil {
		return nil
	}
	return die("%s: %s", doing, strings.TrimSuffix(perlText(err), "\n"))
}

// section takes the options out of the parameters, but for those that aren't
// options.
func (c *call) section(except ...string) map[string]string {
	out := map[string]string{}
	for k := range c.params {
		if k == "digest" || k == "delete" || slices.Contains(except, k) {
			continue
		}
		out[k] = c.text(k)
	}
	return out
}

// text is a parameter as it is stored; lists are joined.
func (c *call) text(k string) string {
	if list, ok := c.params[k].([]string); ok {
		return strings.Join(list, ",")
	}
	return c.params.Str(k)
}

// checkDigest refuses a change when the config isn't what the caller saw.
func (c *call) checkDigest(have string) error {
	if want := c.params.Str("digest"); want != "" && want != have {
		return die("detected modified configuration - file changed by other user? Try again.")
	}
	return nil
}

// typedSection shows a section as JSON: numbers where the schema of the call
// that made it says so.
func (c *call) typedSection(sec map[string]string) map[string]any {
	return typed(c.schema.Lookup("POST", strings.TrimSuffix(strings.SplitN(c.ep.Path, "/{", 2)[0], "/")), sec)
}

// typed shows a section as JSON, by the schema of the call that makes it.
func typed(writer *schema.Endpoint, sec map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range sec {
		out[k] = v
		if writer == nil {
			continue
		}
		if p := writer.Param(k); p != nil && (p.Type == "integer" || p.Type == "boolean") {
			if n, err := strconv.Atoi(v); err == nil {
				out[k] = n
			}
		}
	}
	return out
}

// sectionDigest is the checksum of a config file made of sections.
func sectionDigest[V any](sections map[string]V) string {
	if len(sections) == 0 {
		return emptyDigest
	}
	b, _ := json.Marshal(sections) // keys come sorted
	sum := sha1.Sum(b)
	return hex.EncodeToString(sum[:])
}

// emptyDigest is the checksum of a file that isn't there.
const emptyDigest = "da39a3ee5e6b4b0d3255bfef95601890afd80709"

func atoiOr(text string, def int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return def
}

func strAny(v any) string {
	if v == nil {
		return "---"
	}
	return fmt.Sprint(v)
}

// merged is a section with changes applied, as its file keeps it.
func merged(sec, changes map[string]string) map[string]string {
	out := maps.Clone(sec)
	maps.Copy(out, changes)
	return keepSection(out)
}

// keepSection leaves in a section what its file keeps: options without a value
// aren't written, blanks around a value aren't read, and a comment of "0" is
// none to Perl.
func keepSection(sec map[string]string) map[string]string {
	for k, v := range sec {
		if v = strings.TrimSpace(v); v == "" || k == "comment" && v == "0" {
			delete(sec, k)
			continue
		}
		sec[k] = v
	}
	return sec
}
