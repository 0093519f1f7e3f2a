package prop

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

// SMBIOS1 is what the VM's firmware tells about the machine: smbios1. The texts
// are plain here; Proxmox stores those with other characters than letters and
// digits in base64.
type SMBIOS1 struct {
	UUID         string
	Manufacturer string
	Product      string
	Version      string
	Serial       string
	SKU          string
	Family       string
	Base64       bool // store all texts in base64 even if they needn't be
	Rest
}

var smbiosForm = form{name: "smbios1"}

var (
	uuidText   = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	smbiosText = regexp.MustCompile(`^[A-Za-z0-9+/]+={0,2}$`)
)

var uuid = codec[string]{
	parse: func(s string) (string, error) {
		if !uuidText.MatchString(s) {
			return "", fmt.Errorf("not a UUID")
		}
		return s, nil
	},
	print: text.print,
}

var smbiosPlain = codec[string]{
	parse: func(s string) (string, error) {
		if !smbiosText.MatchString(s) {
			return "", fmt.Errorf("has characters that need base64")
		}
		return s, nil
	},
	print: text.print,
}

var smbiosBase64 = codec[string]{
	parse: func(s string) (string, error) {
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
		if err != nil || len(b) == 0 || !smbiosText.MatchString(s) {
			return "", fmt.Errorf("not base64")
		}
		return string(b), nil
	},
	print: func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
}

func (s *SMBIOS1) fields() []field {
	c := smbiosPlain
	if s.Base64 {
		c = smbiosBase64
	}
	return []field{
		bind("uuid", &s.UUID, uuid).comparedBy(strings.ToLower),
		bind("manufacturer", &s.Manufacturer, c),
		bind("product", &s.Product, c),
		bind("version", &s.Version, c),
		bind("serial", &s.Serial, c),
		bind("sku", &s.SKU, c),
		bind("family", &s.Family, c),
		flag("base64", &s.Base64),
	}
}

// ParseSMBIOS1 parses the value of smbios1.
func ParseSMBIOS1(s string) (SMBIOS1, error) {
	list, err := ParseList(s)
	if err != nil {
		return SMBIOS1{}, fmt.Errorf("parse smbios1 %q: %w", s, err)
	}
	var b SMBIOS1
	if v, ok := list.Get("base64"); ok {
		b.Base64, _ = parseBool(v) // read reports the error
	}
	if err := smbiosForm.read(s, b.fields(), &b.Rest); err != nil {
		return SMBIOS1{}, err
	}
	return b, nil
}

func (s SMBIOS1) String() string {
	for _, t := range []string{s.Manufacturer, s.Product, s.Version, s.Serial, s.SKU, s.Family} {
		if t != "" && !smbiosText.MatchString(t) {
			s.Base64 = true
		}
	}
	return smbiosForm.write(s.fields(), s.Rest)
}

// Equal reports whether both tell the same, however it is stored.
func (s SMBIOS1) Equal(o SMBIOS1) bool {
	s.Base64, o.Base64 = false, false
	return equal(s.fields(), o.fields(), s.Rest, o.Rest)
}
