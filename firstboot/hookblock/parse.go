package hookblock

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/proxplane/proxplane/firstboot/qemuarg"
)

const (
	fence = "```"
	info  = "proxplane"
)

// Parse finds the block in a description, and returns the rest. Only a fenced block that is
// marked as ours, or not marked at all, and has one of the hook's lines counts: others may
// be examples.
func Parse(description string) (b Block, rest string, err error) {
	lines := strings.Split(strings.ReplaceAll(description, "\r", ""), "\n")
	var found bool
	var kept []string
	for i := 0; i < len(lines); i++ {
		mark, label, ok := opening(lines[i])
		if !ok {
			kept = append(kept, lines[i])
			continue
		}
		size := slices.IndexFunc(lines[i+1:], func(line string) bool { return closing(line, mark) })
		if size < 0 {
			if ours(label, lines[i+1:]) {
				return Block{}, description, errors.New("the block with hook-script, cloud-init or virtiofs lines isn't closed")
			}
			kept = append(kept, lines[i:]...)
			break
		}
		inner := lines[i+1 : i+1+size]
		if !ours(label, inner) {
			kept = append(kept, lines[i:i+size+2]...)
		} else {
			if found {
				return Block{}, description, errors.New("there are two blocks with hook-script, cloud-init or virtiofs lines; one is allowed")
			}
			found = true
			if err := b.read(inner); err != nil {
				return Block{}, description, err
			}
			kept = trimBlank(kept)
		}
		i += size + 1
	}
	if !found {
		return Block{}, description, nil
	}
	return b, strings.TrimRight(strings.Join(kept, "\n"), "\n"), nil
}

// opening recognises the first line of a fenced block as Markdown has it.
func opening(line string) (mark, label string, ok bool) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 {
		return "", "", false
	}
	for _, c := range []string{"`", "~"} {
		label := strings.TrimLeft(text, c)
		if n := len(text) - len(label); n >= len(fence) && !strings.Contains(label, "`") {
			return text[:n], strings.TrimSpace(label), true
		}
	}
	return "", "", false
}

func closing(line, mark string) bool {
	text := strings.TrimSpace(line)
	return len(text) >= len(mark) && strings.Trim(text, mark[:1]) == ""
}

var (
	// directive is the form of lines in a block.
	directive = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9_.-]*):(?:\s+(.*))?$`)
	known     = []string{"hook-script", "cloud-init", "virtiofs"}
)

// ours reports whether a fenced block is meant for the hook.
func ours(label string, lines []string) bool {
	if label == info {
		return true
	}
	return label == "" && slices.ContainsFunc(lines, func(line string) bool {
		m := directive.FindStringSubmatch(line)
		return m != nil && slices.Contains(known, m[1])
	})
}

// trimBlank takes the empty lines off the end, where something was cut out.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (b *Block) read(lines []string) error {
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := directive.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf("%q isn't of the form key: value", line)
		}
		key, text := m[1], strings.TrimSpace(m[2])
		switch key {
		case "hook-script":
			b.HookScripts = append(b.HookScripts, text)
		case "cloud-init":
			if b.CloudInit != "" {
				return errors.New("there are two cloud-init lines; a VM has one Ignition file")
			}
			if text == "" {
				return errors.New("cloud-init: names no volume")
			}
			b.CloudInit = text
		case "virtiofs":
			s, err := parseShare(text)
			if err != nil {
				return err
			}
			b.Shares = append(b.Shares, s)
		default:
			b.Other = append(b.Other, strings.TrimSpace(line))
		}
	}
	return b.Check()
}

// parseShare reads options as Getopt::Long does: with one dash or two, values
// behind a blank or "=".
func parseShare(text string) (Share, error) {
	fail := func(format string, args ...any) (Share, error) {
		return Share{}, fmt.Errorf("virtiofs: %s: %s", text, fmt.Sprintf(format, args...))
	}
	words, err := qemuarg.Split(text)
	if err != nil {
		return fail("a quote isn't closed")
	}
	var s Share
	texts := map[string]*string{"path": &s.Path, "socket": &s.Socket, "cache": &s.Cache}
	seen := map[string]bool{}
	for i := 0; i < len(words); i++ {
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(words[i], "-"), "-"), "=")
		if !strings.HasPrefix(words[i], "-") {
			return fail("%q isn't an option", words[i])
		}
		if seen[name] {
			return fail("--%s is there twice", name)
		}
		seen[name] = true
		if at := slices.IndexFunc(s.switches(), func(o option) bool { return o.name == name }); at >= 0 && !has {
			*s.switches()[at].on = true
			continue
		}
		target := texts[name]
		if target == nil {
			return fail("there is no option %q", words[i])
		}
		if !has {
			if i++; i == len(words) {
				return fail("--%s has no value", name)
			}
			value = words[i]
		}
		*target = value
	}
	return s, s.check()
}

func (s Share) check() error {
	for _, o := range []struct{ name, path string }{{"path", s.Path}, {"socket", s.Socket}} {
		switch name, p := o.name, o.path; {
		case p == "":
			return fmt.Errorf("virtiofs: there is no --%s", name)
		case !path.IsAbs(p), path.Clean(p) != p:
			return fmt.Errorf("virtiofs: --%s %q isn't an absolute path in its shortest form", name, p)
		case strings.ContainsFunc(p, isControl), !utf8.ValidString(p):
			return fmt.Errorf("virtiofs: --%s %q has characters that no notes can carry", name, p)
		}
	}
	if s.Cache != "" && !slices.Contains(Caches, s.Cache) {
		return fmt.Errorf("virtiofs: --cache %q isn't one of %s", s.Cache, strings.Join(Caches, ", "))
	}
	return nil
}
