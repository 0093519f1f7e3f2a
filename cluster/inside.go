package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// Ran is the result of a program in a machine.
type Ran struct {
	Out, Err string
	Code     int
}

// Guests runs programs and reads files inside of machines, by their guest agents.
type Guests interface {
	// Run runs a program, with a text on its standard input, and waits for its end.
	Run(ctx context.Context, g *model.Guest, command []string, input string) (Ran, error)
	// ReadFile reads a file.
	ReadFile(ctx context.Context, g *model.Guest, path string) (string, error)
	// WriteFile writes a small file.
	WriteFile(ctx context.Context, g *model.Guest, path, content string) error
}

// Agents reaches into the machines of a site.
func Agents(s *site.Site) Guests { return agents{s} }

type agents struct{ site *site.Site }

func (a agents) Run(ctx context.Context, g *model.Guest, command []string, input string) (Ran, error) {
	ran, err := a.site.Exec(ctx, g.Config.Marker.Owner, site.Command{Args: command, Input: []byte(input)})
	switch {
	case err == nil && ran.Cut:
		err = fmt.Errorf("%s printed more than Proxmox shows", command[0])
	case ran.Signal != 0: // it has no exit code then
		ran.Code = 128 + ran.Signal
	}
	return Ran{Out: ran.Out, Err: ran.Err, Code: ran.Code}, err
}

func (a agents) ReadFile(ctx context.Context, g *model.Guest, path string) (string, error) {
	text, err := a.site.ReadFile(ctx, g.Config.Marker.Owner, path)
	return string(text), err
}

func (a agents) WriteFile(ctx context.Context, g *model.Guest, path, content string) error {
	_, err := output(ctx, a, g, content, "sh", "-c", "cat > "+path)
	return err
}

// output is what a program printed, or why it failed.
func output(ctx context.Context, in Guests, g *model.Guest, input string, command ...string) (string, error) {
	ran, err := in.Run(ctx, g, command, input)
	if err != nil {
		return "", fmt.Errorf("%s: run %s: %w", g.Name, command[0], err)
	}
	if ran.Code != 0 {
		said := strings.TrimSpace(ran.Err)
		if said == "" {
			said = strings.TrimSpace(ran.Out)
		}
		return ran.Out, &RunError{Machine: g.Name, Command: strings.Join(command, " "), Code: ran.Code, Said: lastLines(said, 3)}
	}
	return ran.Out, nil
}

// RunError is a failed program in a machine.
type RunError struct {
	Machine, Command string
	Code             int
	Said             string
}

func (e *RunError) Error() string {
	return fmt.Sprintf("%s: %s ended with %d: %s", e.Machine, e.Command, e.Code, e.Said)
}

// lastLines are the last lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Sizes of the parts in which files go through the agent: Proxmox takes 64 KiB as input, and shows
// 16 MiB of output.
const (
	partIn  = 45 << 10
	partOut = 3 << 20
)

// readLarge reads a file of any size and any bytes.
func readLarge(ctx context.Context, in Guests, g *model.Guest, file string) ([]byte, error) {
	var all []byte
	for {
		part, err := output(ctx, in, g, "", "sh", "-c", fmt.Sprintf("tail -c +%d %s | head -c %d | base64 -w0", len(all)+1, file, partOut))
		if err != nil {
			return nil, err
		}
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%s: read %s: %w", g.Name, file, err)
		}
		if all = append(all, data...); len(data) < partOut {
			return all, sameThere(ctx, in, g, file, all)
		}
	}
}

// sameThere compares what a machine has in a file with what was read or written in parts.
func sameThere(ctx context.Context, in Guests, g *model.Guest, file string, data []byte) error {
	said, err := output(ctx, in, g, "", "sha256sum", file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if have, _, _ := strings.Cut(strings.TrimSpace(said), " "); have != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("%s: %s has changed on its way; try again", g.Name, file)
	}
	return nil
}

// writeLarge writes a file of any size and any bytes, which only root can read.
func writeLarge(ctx context.Context, in Guests, g *model.Guest, file string, data []byte) error {
	to, rest := "umask 077; base64 -d > "+file, data
	for first := true; first || len(rest) > 0; first = false {
		part := rest[:min(partIn, len(rest))]
		rest = rest[len(part):]
		if _, err := output(ctx, in, g, base64.StdEncoding.EncodeToString(part), "sh", "-c", to); err != nil {
			return err
		}
		to = "base64 -d >> " + file
	}
	return sameThere(ctx, in, g, file, data)
}

// errNoToken says that a control plane has no token yet.
var errNoToken = errors.New("it has no token yet")

// tokenOf reads the secret by which machines join, from a control plane.
func tokenOf(ctx context.Context, in Guests, g *model.Guest, d *distribution) (string, error) {
	text, err := in.ReadFile(ctx, g, d.config("config.yaml"))
	if err != nil {
		return "", fmt.Errorf("%s: read the token: %w", g.Name, err)
	}
	for line := range strings.Lines(text) {
		if token, ok := strings.CutPrefix(strings.TrimSpace(line), "token: "); ok {
			return strings.Trim(token, `"'`), nil
		}
	}
	return "", fmt.Errorf("%s: %w", g.Name, errNoToken)
}
