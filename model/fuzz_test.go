package model_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/proxplane/proxplane/model"
)

// What people write into the notes of a VM never takes anything from a marker, nor
// makes one of its own out of nothing.
func FuzzDescriptionsKeepTheirMarker(f *testing.F) {
	for _, text := range []string{
		"", "web server", "<!-- proxplane ", "<!-- proxplane {} -->", "-->", "--", "a\n\n\n", "\u202e\x00", strings.Repeat("<!-- proxplane ", 1000),
		`<!-- proxplane {"owner":{"name":"x"},"vmid":1e999} -->`, `<!-- proxplane {"owner":{"name":"x"},"old":["../../etc/passwd"]} -->`,
		`<!-- proxplane ` + strings.Repeat("[", 100_000),
	} {
		f.Add(text, "web-1", "local:iso/proxplane-1.iso", 100)
	}
	f.Add("", "--><!-- proxplane ", "--", -1)
	f.Fuzz(func(t *testing.T, text, name, seed string, vmid int) {
		if _, m, ok := model.ParseDescription(text); ok && m.Owner.Name == "" {
			t.Errorf("%q names nobody", text)
		}
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(seed) {
			return // JSON has no such texts, and Proxmox neither
		}
		want := model.Marker{Owner: model.Owner{Door: "vm", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: name}}, VMID: vmid, Seed: seed}
		_, got, ok := model.ParseDescription(model.Describe(text, want))
		if !ok || got.Owner != want.Owner || got.VMID != vmid || got.Seed != seed || !got.Of(vmid) {
			t.Errorf("behind %q, %+v became %+v", text, want, got)
		}
	})
}
