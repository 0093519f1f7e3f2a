package pve

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
)

// Settings are keys of a VM's config with their values, as Proxmox writes them:
// {"memory": "2048", "net0": "virtio,bridge=vmbr0"}. Package prop reads and writes the values
// that have an inner structure. Printed or marshalled, Settings hide what is secret.
type Settings map[string]string

// UnmarshalJSON takes the mixed values that Proxmox sends (numbers, strings, booleans).
func (s *Settings) UnmarshalJSON(data []byte) error {
	var all map[string]any
	if err := unmarshalNumbers(data, &all); err != nil {
		return err
	}
	*s = settingsOf(all)
	return nil
}

// MarshalJSON writes an object of strings.
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]string(s.safe())) }

func (s Settings) String() string {
	var b strings.Builder
	for i, key := range sortedKeys(s) {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%q", key, s.safe()[key])
	}
	return b.String()
}

func (s Settings) GoString() string           { return "pve.Settings{" + s.String() + "}" }
func (s Settings) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }
func (s Settings) LogValue() slog.Value       { return slog.StringValue(s.String()) }

func (s Settings) safe() Settings {
	out := maps.Clone(s)
	for key := range out {
		if secretParam("", key) {
			out[key] = redacted
		}
	}
	return out
}

func (s Settings) form() form {
	var f form
	for _, key := range sortedKeys(s) {
		f = append(f, pair{key, s[key]})
	}
	return f
}

func settingsOf(all map[string]any) Settings {
	out := make(Settings, len(all))
	for key, value := range all {
		if value != nil {
			out[key] = scalarText(value)
		}
	}
	return out
}
