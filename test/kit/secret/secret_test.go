package secret_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/test/kit/secret"
)

const password = `it's a "secret"/+=<&>` + "\\ über-long"

// Somebody planted it in many ways, and each is found.
func TestASecretIsFoundInWhateverFormItWasWritten(t *testing.T) {
	sum := sha256.Sum256([]byte(password))
	inJSON, err := json.Marshal(map[string]string{"password": password})
	if err != nil {
		t.Fatal(err)
	}
	inYAML, err := yaml.Marshal(map[string]string{"password": password})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	for reason, leak := range map[string]string{
		"a line of a log":        `level=DEBUG msg="PUT /config" password=` + fmt.Sprintf("%q", password),
		"plain":                  "password " + password + " refused",
		"cut off":                "password " + password[:len(password)*2/3] + "…",
		"the end of it":          "…" + password[len(password)/2:],
		"a query":                "GET /x?" + url.Values{"password": {password}}.Encode(),
		"a path":                 "GET /x/" + url.PathEscape(password),
		"JSON":                   string(inJSON),
		"JSON in JSON":           string(twice),
		"YAML":                   string(inYAML),
		"HTML":                   html.EscapeString(password),
		"hexadecimal":            hex.EncodeToString([]byte(password)),
		"a digest":               hex.EncodeToString(sum[:]),
		"a digest in base64":     base64.RawStdEncoding.EncodeToString(sum[:]),
		"base64":                 base64.StdEncoding.EncodeToString([]byte(password)),
		"base64 with more of it": base64.StdEncoding.EncodeToString([]byte("me:" + password + ":x")),
		"base64 for URLs":        base64.RawURLEncoding.EncodeToString([]byte("user=me\x00" + password)),
	} {
		var f secret.Finder
		f.Add("the password", password)
		if found := f.In("before it\n" + leak + "\nbehind it"); len(found) != 1 || !strings.HasPrefix(found[0], "the password ") {
			t.Errorf("%s: found %q in %s", reason, found, leak)
		}
	}
}

func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	var f secret.Finder
	f.Add("the password", password)
	f.AddLines("the key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\nshort\n-----END OPENSSH PRIVATE KEY-----\n")
	if found := f.In("password=[redacted] -----BEGIN OPENSSH PRIVATE KEY----- short it's a"); found != nil {
		t.Errorf("found %q", found)
	}
	if found := f.In("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"); !slices.Equal(found, []string{"the key as it is"}) {
		t.Errorf("found %q", found)
	}
	if names := f.Names(); !slices.Equal(names, []string{"the key", "the password"}) {
		t.Errorf("it knows %q", names)
	}
}
