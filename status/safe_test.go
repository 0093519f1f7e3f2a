package status

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestTextsOfOthersDoNothingToTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ünïcode …\tand\nlines":      "plain, ünïcode …\tand\nlines",
		"\x1b]52;c;ZWNobyBoaQ==\a":          `\u001b]52;c;ZWNobyBoaQ==\u0007`,
		"\u009b2J":                          `\u009b2J`,
		"\x1b[2K\rall is well":              `\u001b[2K\u000dall is well`,
		Paint{On: true}.Red("wrong") + "ok": "\x1b[31mwrong\x1b[0mok",
		"\x1b[8mhidden":                     `\u001b[8mhidden`,
		"raw \x9b2J":                        "raw \uFFFD2J",
		"abc\u202edcb":                      `abc\u202edcb`,
		"\x7f":                              `\u007f`,
	} {
		if got := Safe(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestTheSafeWriterKeepsCharactersThatComeInParts(t *testing.T) {
	var b strings.Builder
	w := &SafeWriter{W: &b}
	for _, c := range []byte("ü…\u009b\n") {
		if n, err := w.Write([]byte{c}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if b.String() != "ü…\\u009b\n" {
		t.Errorf("%q", b.String())
	}
}

func FuzzSafe(f *testing.F) {
	f.Add("\x1b]52;c;x\a\u009b2J\x9b")
	f.Fuzz(func(t *testing.T, text string) {
		safe := Safe(text)
		for _, c := range colours {
			safe = strings.ReplaceAll(safe, c, "")
		}
		if i := strings.IndexFunc(safe, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%q becomes %q", text, safe)
		}
		// What is JSON stays so, and means the same.
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if json.Unmarshal(b, &before) == nil && (json.Unmarshal([]byte(Safe(string(b))), &after) != nil || before != after) {
			t.Errorf("%q was JSON, %q isn't", b, Safe(string(b)))
		}
	})
}
