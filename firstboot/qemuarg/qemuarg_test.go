package qemuarg

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/test/kit/need"
)

// nasty are values that somebody may want to hand to QEMU.
var nasty = []string{
	"", "plain", "/srv/a,b", ",", ",,", ",,,", "a,", ",a", "a b", " a ", `a"b`, `a'b`, `a\b`, `a\`, `\`, `\\`, `"`, `'`, `''`, `""`, `\"`, `\'`,
	`a=b`, `=`, `a,b=c`, `{"json":1}`, "$HOME", "`id`", "a;b", "a|b", "#a", "~", "*", "-x", "on", "off", `C:\x\`, `'a"b\c,d e'`, `a\,b`, "%41", "<!-- -->",
}

func TestOptionsReadBack(t *testing.T) {
	for _, v := range nasty {
		checkRoundTrip(t, v, "x")
		checkRoundTrip(t, "x", v)
	}
	if got, want := Option("-fw_cfg", Param{"name", "opt/org.flatcar-linux/config"}, Param{"file", "/run/proxplane/ignition/100.ign"}),
		"-fw_cfg name=opt/org.flatcar-linux/config,file=/run/proxplane/ignition/100.ign"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Line(Option("-nodefaults"), Option("-virtfs", Param{"", "local"}, Param{"path", "/a, b"})), `-nodefaults -virtfs "local,path=/a,, b"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func checkRoundTrip(t *testing.T, a, b string) {
	t.Helper()
	want := []Param{{"", "socket"}, {"id", a}, {"path", b}}
	words, err := Split(Line(Option("-first"), Option("-chardev", want...), Option("-last")))
	if err != nil || len(words) != 4 || words[0] != "-first" || words[1] != "-chardev" || words[3] != "-last" {
		t.Fatalf("%q, %q: split into %q, %v", a, b, words, err)
	}
	if diff := cmp.Diff(want, ParseParams(words[2])); diff != "" {
		t.Errorf("%q, %q (-want +got):\n%s", a, b, diff)
	}
}

func FuzzOptionsReadBack(f *testing.F) {
	for _, v := range nasty {
		f.Add(v, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if Check(a) != nil || Check(b) != nil {
			t.Skip()
		}
		checkRoundTrip(t, a, b)
	})
}

func TestWhatCannotBeCarriedIsRefused(t *testing.T) {
	for _, v := range []string{"a\nb", "a\x00", "a\tb", "Müller", "\xff", "\x7f"} {
		if err := Check(v); err == nil {
			t.Errorf("%q is taken", v)
		}
	}
	for _, v := range nasty {
		if err := Check(v); err != nil {
			t.Error(err)
		}
	}
}

func TestLinesThatProxmoxWouldDropAreErrors(t *testing.T) {
	for line, want := range map[string]string{`-a "b`: "isn't closed", `-a 'b`: "isn't closed", `-a \`: "backslash", `-a "b\"`: "isn't closed"} {
		if _, err := Split(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func TestSwitchesHaveNoKey(t *testing.T) {
	want := []Param{{"", "local"}, {"path", "/a=b,c"}, {"", "readonly"}, {"x", ""}}
	if diff := cmp.Diff(want, ParseParams("local,path=/a=b,,c,readonly,x=")); diff != "" {
		t.Error(diff)
	}
	if got := ParseParams(""); got != nil {
		t.Errorf("nothing is %v", got)
	}
}

// lines are lines of words as people write them, for both splitters.
var lines = []string{
	"", " ", "a", " a", "a ", "a  b\tc", `""`, `a ""`, `"" a`, `a"b c"d`, `a'b c'd`, `\x41`, `a\ b`, `'a\'b'`, `'a\\'`, `"a\"b" c`, `"\a"`, `a\\ b`,
	`-no-reboot -smbios 'type=0,vendor=FOO'`, `-fw_cfg name=opt/x,string="a,,b"`, `a"b"'c'd`, `'"' "'"`, "a#b", "#a b",
}

func TestLinesAreSplitAsPerlDoes(t *testing.T) {
	perl := need.Program(t, "perl")
	all := slices.Clone(lines)
	for _, v := range nasty {
		all = append(all, Option("-x", Param{"id", v}), Quote(v), v)
	}
	for _, line := range all {
		out, err := exec.Command(perl, "-MText::ParseWords", "-e", `print map { "$_\0" } shellwords($ARGV[0])`, "--", line).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(string(out), "\x00")
		want = want[:len(want)-1]
		got, err := Split(line)
		if err != nil && len(want) == 0 {
			continue // where Perl returns nothing, we say why
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, Perl has %q", line, got, err, want)
		}
	}
}
