package firstboot

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// What stands for first-boot data is a digest of them: keys that are read again from the text
// that they gave are written as the same text.
func TestMetaDataIsReadAsItIsWritten(t *testing.T) {
	for _, text := range []string{
		"", "{}", "a: 1\n", "b: [1, 2.0, 1e3, .inf, -.inf, .nan, 0x10, 0o7, 1_000]\n", "when: 2001-12-14 21:59:43.10 -5\nday: 2001-12-14\n", "n: null\nno: no\nyes: 'yes'\noff: off\n",
		"text: |\n  a\n   b\n\nfolded: >\n  c\n  d\n", "s: \"\\u0000\\t\\e\"\n", "b: !!binary aGVsbG8A/w==\n", "x: {1: a, true: b, [c]: d}\n", "base: &b {k: v}\nuse: {<<: *b, l: w}\n", "i: 123456789012345678901234567890\n", "q: '01'\nv: 1.10\n",
		"instance-id: mine\nlocal-hostname: web\n", "e: ''\nsp: ' x '\nnl: \"a\\nb\\n\"\n",
	} {
		var plain map[string]any
		if err := yaml.Unmarshal([]byte(text), &plain); err != nil {
			continue // no meta-data
		}
		want, err := yaml.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		once, keys, err := MetaData(text)
		if err != nil {
			t.Fatal(err)
		}
		twice, again, err := MetaData(once)
		if err != nil || once != twice || len(keys) != len(again) || len(keys) > 0 && once != string(want) {
			t.Errorf("%q gives %q, and that %q (%v)", text, once, twice, err)
		}
	}
}
