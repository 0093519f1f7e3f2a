package schema

import (
	"encoding/json"
	"strings"
)

const domainLabel = `(?^i:[a-z0-9][a-z0-9_-]*)`
const aliasLabel = `(?^i:[a-z0-9_][a-z0-9_-]*)`

var _ = register(map[string]checker{
	"pve-acme-domain":       matching(`^`+domainLabel+`(?:\.`+domainLabel+`)+$`, "value '%s' does not look like a valid domain name!"),
	"pve-acme-alias":        matching(`^`+aliasLabel+`(?:\.`+aliasLabel+`)+$`, "value '%s' does not look like a valid alias name!"),
	"pem-certificate":       pemChecker(pem("CERTIFICATE")),
	"pem-certificate-chain": pemChecker(`(` + pem("CERTIFICATE") + `\n+)*` + pem("CERTIFICATE")),
	"pem-string":            pemChecker(pem(`.*?`)),
	"pve-command-batch":     commandBatch,
})

func pem(label string) string {
	return `-----BEGIN ` + label + `-----(?:\s|\n)*` +
		`(?:(?:[0-9A-Za-z\+/])+\s*\n)*` +
		`(?:[0-9A-Za-z\+/])*(?:=\s*\n=|={0,2})?\s*\n` +
		`-----END ` + label + `-----(?:\s|\n)*`
}

var pemHeaderRE = perlPattern(`-----BEGIN .*?-----`)

// pemChecker checks what is left when the text before the first header is cut off.
func pemChecker(perl string) checker {
	check := matching(`^`+perl+`$`, "not a valid PEM-formatted string.")
	return func(s *Schema, value string) error {
		if re, _, err := pemHeaderRE.compile(); err == nil {
			if at := re.FindStringIndex(value); at != nil {
				value = value[at[0]:]
			}
		}
		return check(s, value)
	}
}

var batch = &Param{Type: "array", Items: &Param{Type: "object", open: true, object: &object{
	props: map[string]*Param{
		"path":   {Type: "string"},
		"method": {Type: "string", pattern: perlPattern(`^(GET|POST|PUT|DELETE)$`)},
		"args":   {Type: "object", Optional: true},
	},
	required: []string{"method", "path"},
}}}

// commandBatch takes a JSON array of calls.
func commandBatch(s *Schema, value string) error {
	dec := json.NewDecoder(strings.NewReader(value))
	dec.UseNumber()
	var commands any
	if err := dec.Decode(&commands); err != nil || dec.More() {
		at := int(min(dec.InputOffset(), int64(len(value))))
		rest := value[at:]
		if rest == "" {
			rest = "(end of string)"
		}
		return fail("commands param did not contain valid JSON: malformed JSON string, neither tag, array, object, "+
			"number, string or atom, at character offset %d (before %q) at /usr/share/perl5/PVE/API2/Nodes.pm line 99.", at, rest)
	}
	v := verifier{schema: s}
	v.prop(perlValue(commands), batch, "", "", nil)
	if len(v.errs) > 0 {
		text := (&PropsError{v.errs}).Error()
		return formatError("commands is not a valid array of commands: 400 Parameter verification failed.\n" +
			strings.TrimPrefix(text, "format error\n"))
	}
	return nil
}
