package pvesim

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/pve/schema"
)

// hiddenOptions may be in a config, but no request may set them. The value
// is their type.
var hiddenOptions = map[string]string{
	"parent": "string", "snaptime": "integer", "vmstate": "string", "running-nets-host-mtu": "string",
	"runningmachine": "string", "runningcpu": "string", "meta": "string",
}

// notOptions are parameters of a config change that aren't options.
var notOptions = map[string]bool{
	"node": true, "vmid": true, "skiplock": true, "delete": true, "revert": true, "force": true, "digest": true,
	"background_delay": true, "import-working-storage": true, "skip_cloud_init": true,
}

// configCalls remembers where each release declares the options of VMs:
// *schema.Schema → *schema.Endpoint.
var configCalls sync.Map

// option is the declaration of a VM's option, nil when requests can't set it.
func (s *Sim) option(key string) *schema.Param {
	if notOptions[key] {
		return nil
	}
	ep, ok := configCalls.Load(s.schema)
	if !ok {
		ep, _ = configCalls.LoadOrStore(s.schema, s.schema.Lookup("PUT", "/nodes/{node}/qemu/{vmid}/config"))
	}
	return ep.(*schema.Endpoint).Param(key)
}

// optionKind is the type of an option; "" when there is no such option.
func (s *Sim) optionKind(key string) string {
	if kind := hiddenOptions[key]; kind != "" {
		return kind
	}
	if p := s.option(key); p != nil {
		return p.Type
	}
	return ""
}

// typed gives a stored value the type that Proxmox answers with: whole
// numbers and booleans are numbers, all else stays text.
func (s *Sim) typed(key, value string) any {
	switch s.optionKind(key) {
	case "integer", "boolean":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			return json.Number(strconv.FormatFloat(f, 'g', 15, 64))
		}
	}
	return value
}

// asJSON is a section of a config as it is answered.
func (s *Sim) asJSON(c Conf) map[string]any {
	out := make(map[string]any, len(c)+1)
	for k, v := range c {
		out[k] = s.typed(k, v)
	}
	return out
}

var (
	wholeNumber = regexp.MustCompile(`^\d+$`)
	plainNumber = regexp.MustCompile(`^\d+(\.\d+)?$`)
	quoted      = regexp.MustCompile(`^"(.*)"$`)
)

const blanks = " \t\r\n\f\v"

// checkOption is the check before a value is written to the config file, and
// after it was read. It returns the value in its stored form.
func (s *Sim) checkOption(key, value string) (string, error) {
	kind := s.optionKind(key)
	switch {
	case kind == "":
		return "", die("unknown setting '%s'", key)
	case strings.ContainsAny(value, "\r\n"):
		return "", die("property contains a line feed")
	}
	failed := func() error { return die("type check ('%s') failed - got '%s'", kind, value) }
	switch kind {
	case "boolean":
		switch strings.ToLower(value) {
		case "1", "on", "yes", "true":
			return "1", nil
		case "0", "off", "no", "false":
			return "0", nil
		}
		return "", failed()
	case "integer":
		if !wholeNumber.MatchString(value) {
			return "", failed()
		}
		if trimmed := strings.TrimLeft(value, "0"); trimmed != "" {
			return trimmed, nil
		}
		return "0", nil
	case "number":
		if !plainNumber.MatchString(value) {
			return "", failed()
		}
		return value, nil
	}
	p := s.option(key)
	switch {
	case p != nil && p.FormatProps != nil:
		if _, err := p.ParseProps("", value); err != nil {
			return "", die("%s", strings.TrimSuffix(err.Error(), "\n"))
		}
	case p != nil && p.Format != "":
		if err := s.schema.CheckFormat(p.Format, value); err != nil {
			return "", die("%s", strings.TrimSuffix(err.Error(), "\n"))
		}
	default:
		return quoted.ReplaceAllString(value, "$1"), nil
	}
	return value, nil
}

// reread is a value after it was written to the config file and read again.
// Values that can't be read are lost: ok is false.
func (s *Sim) reread(key, value string) (stored string, ok bool, err error) {
	value, err = s.checkOption(key, value)
	if err != nil {
		return "", false, die("unable to parse value of '%s' - %s", key, strings.TrimSuffix(perlText(err), "\n"))
	}
	value = strings.Trim(value, blanks)
	if value == "" {
		value = " " // all that the reader's pattern finds after the colon
	}
	if key == "args" {
		return value, true, nil
	}
	stored, err = s.checkOption(key, value)
	return stored, err == nil, nil
}

// rereadNote is a description after it was written and read: as comment
// lines at the top of a section. An empty one is kept in the pending section
// only.
func rereadNote(text string, pending bool) (stored string, ok bool) {
	if !truthy(text) {
		return "", pending
	}
	lines := strings.TrimRight(text, "\n")
	return strings.TrimRight(lines, blanks), lines != ""
}
