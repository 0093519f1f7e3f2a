package guestos

import (
	"testing"

	"github.com/proxplane/proxplane/test/kit/iso"
)

func TestASeedDiscIsReadWhateverItsNamesAre(t *testing.T) {
	files := map[string]string{"user-data": "#cloud-config\n", "meta-data": "local-hostname: x\n", "network-config": "version: 2\n"}
	for _, kind := range []string{"plain", "rockridge", "joliet"} {
		img, ok := OpenISO([]byte(iso.Build("cidata", kind, files)))
		if !ok || img.Label != "cidata" {
			t.Fatalf("%s: ok %t, label %q", kind, ok, img.Label)
		}
		got := img.Files()
		for name, text := range files {
			if got[name] != text {
				t.Errorf("%s: %s holds %q, want %q (of %d files)", kind, name, got[name], text, len(got))
			}
		}
	}
	for _, junk := range []string{"", "not an image", string(make([]byte, 20*2048))} {
		if _, ok := OpenISO([]byte(junk)); ok {
			t.Errorf("%d bytes are taken for an image", len(junk))
		}
	}
}

func FuzzOpenISO(f *testing.F) {
	f.Add([]byte(iso.Build("cidata", "joliet", map[string]string{"user-data": "x"})))
	f.Add([]byte(iso.Build("cidata", "rockridge", map[string]string{"meta-data": "x"})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if img, ok := OpenISO(data); ok {
			img.Files()
		}
	})
}
