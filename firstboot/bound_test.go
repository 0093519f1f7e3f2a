package firstboot

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// allocates is how many bytes something allocates.
func allocates(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestVariablesCanNotBlowATextUp(t *testing.T) {
	text, value := strings.Repeat("${a}", 10_000), strings.Repeat("x", 20<<10)
	var err error
	size := allocates(func() { _, err = Expand(text, map[string]string{"a": value}) })
	if err == nil || size > 32<<20 {
		t.Errorf("%v, and it took %d MiB", err, size>>20)
	}
	// What is written itself may be long.
	long := strings.Repeat("y", 3<<20)
	if got, err := Expand(long+"${a}", map[string]string{"a": value}); err != nil || len(got) != len(long)+len(value) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestAliasesCanNotBlowATextUp(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9))
	}
	var err error
	size := allocates(func() { err = CheckUserData("#cloud-config\n" + bomb) })
	if err == nil || size > 8<<20 {
		t.Errorf("%v, and it took %d MiB", err, size>>20)
	}
	if err := CheckUserData("#cloud-config\na: &a {b: 1}\nc: *a\nd: {<<: *a}\n"); err != nil {
		t.Errorf("a few aliases: %v", err)
	}
}

func TestTheSearchForABadLineIsBounded(t *testing.T) {
	for _, lines := range []int{10, 600, 1900, 20_000} {
		text := "#cloud-config\nkey: [\n" + strings.Repeat("  - some text that goes on for a while, "+strings.Repeat("x", 60)+"\n", lines)
		read, tries := 0, 0
		firstBad(strings.Split(text, "\n"), 2, func(part string) bool {
			read, tries = read+len(part), tries+1
			return badYAML(part)
		})
		if most := maxTried + 20*len(text); read > most && len(text) <= maxTried || len(text) > maxTried && tries > 1 {
			t.Errorf("%d lines: %d bytes were read in %d tries, for a text of %d", lines, read, tries, len(text))
		}
	}
}

// badYAML stands for a reader that finds nothing good from the second line on.
func badYAML(part string) bool { return strings.Count(part, "\n") < 1 }

func TestABadLineIsFoundAlsoInLongTexts(t *testing.T) {
	for _, lines := range []int{3, 100, 1500} {
		text := "#cloud-config\n" + strings.Repeat("- name: value\n", lines) + "wrong: [\n"
		wrong := TextErrorsOf(CheckUserData(text))
		if len(wrong) != 1 || wrong[0].Line != lines+2 {
			t.Errorf("%d lines: %v", lines, wrong)
		}
	}
}
