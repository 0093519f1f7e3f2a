package v1alpha1

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/test/kit/types"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	types.UpToDate(t, "../../..", "deploy/crds/karpenter")
}

func TestEveryFieldIsExplained(t *testing.T) { types.Explained(t, 60) }

func TestCPUFlagsAreATextOrAList(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a text", "flags: +pdpe1gb", []string{"+pdpe1gb"}},
		{"a text with several", "flags: +pdpe1gb;-pcid +aes", []string{"+pdpe1gb", "-pcid", "+aes"}},
		{"a list", "flags: [+pdpe1gb, -pcid]", []string{"+pdpe1gb", "-pcid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cpu CPU
			if err := yaml.UnmarshalStrict([]byte(c.text), &cpu); err != nil || !slices.Equal(cpu.Flags, c.want) {
				t.Errorf("got %q, %v; want %q", cpu.Flags, err, c.want)
			}
		})
	}
	// One object with nonsense must not keep all others from being read.
	for _, text := range []string{"flags: {a: b}", "flags: 5", "flags: [1]"} {
		var cpu CPU
		if err := yaml.UnmarshalStrict([]byte(text), &cpu); err != nil || len(cpu.Flags) != 1 {
			t.Errorf("%s: got %q, %v", text, cpu.Flags, err)
		}
	}
}
