package prop

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Opt is a value that may be absent, where absence means something else than the
// zero value.
type Opt[T comparable] struct {
	Value T
	Set   bool
}

// Some returns a value that is there.
func Some[T comparable](v T) Opt[T] { return Opt[T]{Value: v, Set: true} }

// Or returns the value, or def if it is absent.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}

// A field ties a key to a field of a struct.
type field struct {
	key  string
	get  func() string         // the text of the field's value, "" if there is nothing to print
	set  func(string) error    // parses into the field
	same func(raw string) bool // whether raw is another spelling of the field's value

	plain func(raw string) string  // how Proxmox spells it when it prints, if not as given
	norm  func(text string) string // what to compare
	def   string                   // what absence means
}

// or says what the absence of the key means.
func (f field) or(def string) field {
	f.def = def
	return f
}

// always says that Proxmox wants the key even if the value is zero, and how zero
// is written.
func (f field) always(zero string) field {
	get := f.get
	f.get = func() string {
		if text := get(); text != "" {
			return text
		}
		return zero
	}
	return f
}

// comparedBy says how texts that mean the same are made alike.
func (f field) comparedBy(norm func(string) string) field {
	f.norm = norm
	return f
}

func (f field) meaning() string {
	text := f.get()
	if text == "" {
		text = f.def
	}
	if f.norm != nil {
		text = f.norm(text)
	}
	return text
}

// A codec turns text into a value and back.
type codec[T any] struct {
	parse func(string) (T, error)
	print func(T) string
}

func bind[T comparable](key string, p *T, c codec[T]) field {
	return field{
		key: key,
		get: func() string {
			if *p == *new(T) {
				return ""
			}
			return c.print(*p)
		},
		set: func(raw string) (err error) {
			*p, err = c.parse(raw)
			return err
		},
		same: func(raw string) bool {
			v, err := c.parse(raw)
			return err == nil && v == *p
		},
	}
}

func bindOpt[T comparable](key string, p *Opt[T], c codec[T]) field {
	return bind(key, p, codec[Opt[T]]{
		parse: func(s string) (Opt[T], error) {
			v, err := c.parse(s)
			return Some(v), err
		},
		print: func(o Opt[T]) string { return c.print(o.Value) },
	})
}

var (
	text = codec[string]{
		parse: func(s string) (string, error) { return s, nil },
		print: func(s string) string { return s },
	}
	boolean = codec[bool]{
		parse: parseBool,
		print: func(b bool) string {
			if b {
				return "1"
			}
			return "0"
		},
	}
	size = codec[Size]{parse: ParseSize, print: Size.String}

	numberText  = regexp.MustCompile(`^[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?$`)
	integerText = regexp.MustCompile(`^[+-]?\d+$`)
)

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "on", "yes", "true":
		return true, nil
	case "0", "off", "no", "false":
		return false, nil
	}
	return false, fmt.Errorf("not a boolean")
}

func flag(key string, p *bool) field {
	return spelledByProxmox(bind(key, p, boolean), boolean)
}

func optFlag(key string, p *Opt[bool]) field {
	return spelledByProxmox(bindOpt(key, p, boolean), boolean)
}

func bytesOf(key string, p *Size) field { return spelledByProxmox(bind(key, p, size), size) }

func spelledByProxmox[T any](f field, c codec[T]) field {
	f.plain = func(raw string) string {
		v, err := c.parse(raw)
		if err != nil {
			return raw
		}
		return c.print(v)
	}
	return f
}

// integer is a whole number in [low, high].
func integer(low, high int) codec[int] {
	return codec[int]{
		parse: func(s string) (int, error) {
			if !integerText.MatchString(s) {
				return 0, fmt.Errorf("not an integer")
			}
			n, err := strconv.Atoi(s)
			if err != nil || n < low || n > high {
				return 0, fmt.Errorf("not from %d to %d", low, high)
			}
			return n, nil
		},
		print: strconv.Itoa,
	}
}

const maxInt = int(^uint(0) >> 1)

// natural is a whole number of no known upper bound.
var natural = integer(0, maxInt)

// number is a number that isn't negative.
var number = codec[float64]{
	parse: func(s string) (float64, error) {
		if !numberText.MatchString(s) {
			return 0, fmt.Errorf("not a number")
		}
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || x < 0 {
			return 0, fmt.Errorf("out of range")
		}
		return x, nil
	},
	print: func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) },
}

// words is a list within a value, joined by semicolons.
func words(key string, p *[]string) field {
	print := func(ws []string) string {
		out := make([]string, 0, len(ws))
		for _, w := range ws {
			if w = escape(w, "; "); w != "" {
				out = append(out, w)
			}
		}
		return strings.Join(out, ";")
	}
	return field{
		key: key,
		get: func() string { return print(*p) },
		set: func(raw string) error {
			*p = splitWords(raw)
			if len(*p) == 0 {
				return fmt.Errorf("empty list")
			}
			return nil
		},
		same: func(raw string) bool { return slices.Equal(splitWords(raw), *p) },
	}
}

// splitWords splits a list as Proxmox does: at semicolons, commas and space.
func splitWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",; \t\n\r\f\v", r) })
}
