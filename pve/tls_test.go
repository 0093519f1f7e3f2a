package pve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestWhomAClientTrusts(t *testing.T) {
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) { answerData(w, Version{Release: "9.2"}) }}
	server, cfg := serve(t, h)
	sum := sha256.Sum256(server.Certificate().Raw)
	plain, colons := hex.EncodeToString(sum[:]), formatFingerprint(sum)
	wrong := strings.Repeat("00", sha256.Size)
	ca := cfg.TLS.CA

	for _, c := range []struct {
		reason string
		tls    TLS
		ok     bool
	}{
		{"nobody vouches for the server", TLS{}, false},
		{"its issuer is given", TLS{CA: ca}, true},
		{"its issuer is given, its name is another one", TLS{CA: ca, ServerName: "elsewhere.test"}, false},
		{"its issuer is given, and it has that name too", TLS{CA: ca, ServerName: "example.com"}, true},
		{"pinned, with colons", TLS{Fingerprints: []string{colons}}, true},
		{"pinned, without colons, among others", TLS{Fingerprints: []string{wrong, plain}}, true},
		{"another one is pinned", TLS{Fingerprints: []string{wrong}}, false},
		{"pinned and vouched for", TLS{CA: ca, Fingerprints: []string{plain}}, true},
		{"vouched for, but another one is pinned", TLS{CA: ca, Fingerprints: []string{wrong}}, false},
		{"anybody will do", TLS{Insecure: true}, true},
	} {
		cfg := cfg
		cfg.TLS = c.tls
		_, err := client(t, cfg).Version(t.Context())
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.reason, err)
		}
		if err != nil && !errors.Is(err, ErrConnection) {
			t.Errorf("%s: %v is not ErrConnection", c.reason, err)
		}
	}
	cfg.TLS = TLS{Fingerprints: []string{wrong}}
	_, err := client(t, cfg).Version(t.Context())
	var fp *FingerprintError
	if !errors.As(err, &fp) || fp.Got != colons {
		t.Errorf("the error doesn't tell the fingerprint: %v", err)
	}
	for _, r := range h.requests() {
		if r != "GET /version" {
			t.Errorf("unexpected %s", r)
		}
	}
}

func TestACertificateThatIsNoGoodIsNotTriedAgain(t *testing.T) {
	_, cfg := serve(t, &recorder{})
	cfg.TLS = TLS{}
	tries := 0
	cfg.Observe = func(Exchange) { tries++ }
	if _, err := client(t, cfg).Version(t.Context()); err == nil || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestBadTLSSettingsAreRefusedAtOnce(t *testing.T) {
	for _, c := range []struct {
		reason string
		tls    TLS
	}{
		{"not PEM", TLS{CA: []byte("x")}},
		{"not hexadecimal", TLS{Fingerprints: []string{"zz"}}},
		{"SHA-1", TLS{Fingerprints: []string{strings.Repeat("00", 20)}}},
		{"contradiction", TLS{Insecure: true, Fingerprints: []string{strings.Repeat("00", 32)}}},
	} {
		if _, err := New(Config{Endpoints: []string{"pve1"}, Credentials: Token("a@pve!b", "c"), TLS: c.tls}); err == nil {
			t.Errorf("%s: taken", c.reason)
		}
	}
}
