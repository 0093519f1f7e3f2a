package schema

import (
	"fmt"
	"strings"
)

// formatError is what a format check of Proxmox dies with, final newline included.
type formatError string

func (e formatError) Error() string { return string(e) }

func fail(format string, args ...any) error {
	return formatError(fmt.Sprintf(format, args...) + "\n")
}

// Format is a named format.
type Format struct {
	Name  string      // without -list or -opt
	List  bool        // a list of such values
	Opt   bool        // may be empty
	Props *PropFormat // set when it is a property string

	schema *Schema
	check  checker
}

// Format gives a format by its name, with or without the suffixes -list
// and -opt; nil when there is none.
func (s *Schema) Format(name string) *Format {
	if f := s.named[name]; f != nil {
		return f
	}
	return s.makeFormat(name)
}

func (s *Schema) makeFormat(name string) *Format {
	f := &Format{Name: name, schema: s}
	if base, ok := strings.CutSuffix(name, "-list"); ok {
		f.Name, f.List = base, true
	} else if base, ok := strings.CutSuffix(name, "-opt"); ok {
		f.Name, f.Opt = base, true
	}
	f.Props, f.check = s.formats[f.Name], checkers[f.Name]
	if f.Props == nil && f.check == nil {
		return nil
	}
	return f
}

// CheckFormat checks a value against a named format. The error's text is
// Proxmox' own, final newline included.
func (s *Schema) CheckFormat(name, value string) error { return s.checkFormat(name, value, "") }

func (s *Schema) checkFormat(name, value, path string) error {
	if name == "regex" {
		return nil
	}
	f := s.Format(name)
	switch {
	case f == nil:
		return fail("undefined format '%s'", name)
	case f.Props != nil && f.List:
		return fail("'-list' format must have code ref, not hash")
	case f.Props != nil && f.Opt:
		return fail("'-opt' format must have code ref, not hash")
	case f.Props != nil:
		_, err := f.Props.parse(s, value, path)
		return err
	case f.List:
		for _, v := range SplitList(value) {
			if err := f.check(s, v); err != nil {
				return err
			}
		}
		return nil
	case f.Opt && !perlTrue(value):
		return nil
	}
	return f.check(s, value)
}

func (p *Param) checkFormat(s *Schema, value, path string) error {
	switch {
	case p.Format != "":
		return s.checkFormat(p.Format, value, path)
	case p.FormatProps != nil:
		_, err := p.FormatProps.parse(s, value, path)
		return err
	}
	return nil
}

// checker checks a value of a format.
type checker func(s *Schema, value string) error

// checkers are the formats that Proxmox checks by code.
var checkers = map[string]checker{}

// validators look at a property string as a whole, after its keys.
var validators = map[string]func(s *Schema, props *Props) error{
	"pve-vm-cpu-conf": cpuConf,
	"prune-backups":   pruneBackups,
}

func register(formats map[string]checker) struct{} { //nolint:unparam // called where a package variable is set
	for name, check := range formats {
		checkers[name] = check
	}
	return struct{}{}
}

// matching makes a checker of a Perl pattern. Each %s in the text is the value.
func matching(perl, text string) checker {
	re := perlPattern(perl)
	return func(_ *Schema, value string) error {
		if re.match(value) {
			return nil
		}
		return fail("%s", strings.ReplaceAll(text, "%s", value))
	}
}

// either passes what one of the checkers passes.
func either(text string, checks ...checker) checker {
	return func(s *Schema, value string) error {
		for _, check := range checks {
			if check(s, value) == nil {
				return nil
			}
		}
		return fail("%s", strings.ReplaceAll(text, "%s", value))
	}
}
