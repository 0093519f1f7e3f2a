package model

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

func TestDescriptionsKeepWhatPeopleWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.TrimRight(rapid.StringMatching(`[a-zä#* \n-]{0,60}`).Draw(t, "text"), "\n")
		m := Marker{Owner: Owner{Door: "vm", Set: rapid.String().Draw(t, "set"), Key: Key{Kind: "VirtualMachine", Name: "web--1"}}}
		gotText, got, ok := ParseDescription(Describe(text, m))
		if !ok || gotText != text || got.Owner != m.Owner {
			t.Fatalf("%q gives %q, %+v, %v", Describe(text, m), gotText, got, ok)
		}
	})
}

func TestForeignDescriptionsHaveNoMarker(t *testing.T) {
	for _, text := range []string{"", "hello", "<!-- proxplane", "<!-- proxplane {} -->", "<!-- proxplane nonsense -->"} {
		if _, _, ok := ParseDescription(text); ok {
			t.Errorf("%q counts as ours", text)
		}
	}
}

func TestOwnersTryTheSameVMIDsInTheSameOrder(t *testing.T) {
	o := Owner{Door: "vm", Set: "default", Key: Key{Kind: "VirtualMachine", Name: "web"}}
	r := Range{First: 5000, Last: 5999}
	first, again := slices.Collect(o.Candidates(r)), slices.Collect(o.Candidates(r))
	if !slices.Equal(first, again) || len(first) != maxCandidates {
		t.Fatalf("%d and %d candidates", len(first), len(again))
	}
	seen := map[int]bool{}
	for _, id := range first {
		if id < r.First || id > r.Last || seen[id] {
			t.Errorf("candidate %d is outside of the range or comes twice", id)
		}
		seen[id] = true
	}
	small := slices.Collect(o.Candidates(Range{First: 7, Last: 9}))
	if len(small) != 3 {
		t.Errorf("a range of three gives %v", small)
	}
}

func TestStateTagsAreValidProxmoxTags(t *testing.T) {
	tag := StateTag(Owner{Door: "vm", Key: Key{Kind: "VirtualMachine", Name: "WEB Ü"}}, VM{Name: "x"}.Fingerprint())
	if strings.ToLower(tag) != tag || strings.ContainsAny(tag, " ,;:") {
		t.Errorf("tag %q", tag)
	}
	if _, _, ok := ParseStateTag([]string{"a", tag}); !ok {
		t.Errorf("tag %q isn't found", tag)
	}
}
