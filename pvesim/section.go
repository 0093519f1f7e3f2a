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
)

// Much of Proxmox' configuration is sections of options: these are the ways
// in which all API calls write and show them.

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

// updateSection sets and deletes options of a section whose config file has
// the given digest.
func (c *call) updateSection(sec map[string]string, digest string, except ...string) error {
	if err := c.checkDigest(digest); err != nil {
		return err
	}
	for _, k := range c.params.List("delete") {
		if c.ep.Param(k) == nil {
			return die("no such option '%s'", k)
		}
		if c.params.Has(k) {
			return badParam("delete", "unable to delete option '%s' and set it at the same time", k)
		}
		delete(sec, k)
	}
	maps.Copy(sec, c.section(except...))
	return nil
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
	writer := c.schema.Lookup("POST", strings.TrimSuffix(strings.SplitN(c.ep.Path, "/{", 2)[0], "/"))
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
