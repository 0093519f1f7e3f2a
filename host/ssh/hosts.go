package ssh

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Hosts are machines with the same login, by their names. It never prints its keys.
type Hosts struct {
	Config
	Addresses map[string]string // addresses of the machines, as far as they aren't known otherwise
}

// Dial logs in to one of the machines. A configured address takes precedence over the given
// one.
func (h Hosts) Dial(ctx context.Context, name, address string) (*Conn, error) {
	if a := h.Addresses[name]; a != "" {
		address = a
	}
	return Dial(ctx, address, h.Config)
}

func (h Hosts) String() string             { return "SSH as " + cmp.Or(h.User, "root") }
func (h Hosts) GoString() string           { return "ssh.Hosts(" + h.String() + ")" }
func (h Hosts) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, h.String()) }

// LogValue returns what logs show.
func (h Hosts) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalJSON shows what isn't secret.
func (h Hosts) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"user": cmp.Or(h.User, "root"), "port": cmp.Or(h.Port, 22), "trustFirst": h.TrustFirst, "addresses": h.Addresses})
}
