package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// typeError says what is wrong with the type of a value, "" when nothing is.
func typeError(want string, value any) string {
	failed := "type check ('" + want + "') failed"
	text, isText := value.(string)
	_, isBool := value.(bool)
	ok := true
	switch want {
	case "":
		return ""
	case "array":
		if _, ok := value.([]any); !ok {
			return failed
		}
		return ""
	case "object":
		if _, ok := value.(map[string]any); !ok {
			return failed
		}
		return ""
	case "boolean":
		ok = isBool || text == "0" || text == "1"
	case "integer":
		ok = isInteger(text)
	case "number":
		ok = isNumber(text)
	}
	switch {
	case isText && ok, want == "boolean" && isBool:
		return ""
	case isText:
		return failed + " - got '" + text + "'"
	}
	return failed + " - got " + perlRef(value)
}

// perlRef is what Perl's ref says about a value that isn't a plain scalar.
func perlRef(value any) string {
	switch value.(type) {
	case []any:
		return "ARRAY"
	case map[string]any:
		return "HASH"
	}
	return "JSON::PP::Boolean"
}

// textError applies the checks for a scalar in Proxmox' order.
func (p *Param) textError(s *Schema, value, path string) string {
	if err := p.checkFormat(s, value, path); err != nil {
		return "invalid format - " + err.Error()
	}
	if p.pattern != nil && !p.pattern.match(value) {
		return "value does not match the regex pattern"
	}
	length := utf8.RuneCountInString(value)
	if p.MaxLength != nil && length > *p.MaxLength {
		return "value may only be " + strconv.Itoa(*p.MaxLength) + " characters long"
	}
	if p.MinLength != nil && length < *p.MinLength {
		return "value must be at least " + strconv.Itoa(*p.MinLength) + " characters long"
	}
	if (p.Max != nil || p.Min != nil) && isNumber(value) {
		n := numeric(value)
		if p.Max != nil && n > p.Max.Value {
			return "value must have a maximum value of " + p.Max.Text
		}
		if p.Min != nil && n < p.Min.Value {
			return "value must have a minimum value of " + p.Min.Text
		}
	}
	if p.Enum != nil && !slices.Contains(p.Enum, value) {
		return "value '" + value + "' does not have a value in the enumeration '" + strings.Join(p.Enum, ", ") + "'"
	}
	return ""
}

var numberRE = perlPattern(`^[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?$`)

func isNumber(s string) bool { return numberRE.match(s) }

func isInteger(s string) bool {
	s = strings.TrimSuffix(s, "\n")
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// numeric is the value that Perl computes with; digits other than ASCII's are 0 to it.
func numeric(s string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSuffix(s, "\n"), 64)
	if err != nil && n == 0 {
		return 0
	}
	return n
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }
