package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATableSaysWhichTargetsHold(t *testing.T) {
	list := []Target{{"memory at rest", 211.4, 512, "MiB"}, {"requests a minute", 75.5, 60, ""}}
	got := Targets(list)
	for _, want := range []string{"| memory at rest | 211 MiB | 512 MiB | holds |", "| requests a minute | 75.50 | 60 | **doesn't hold** |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if missed := Missed(list); len(missed) != 1 || missed[0].What != "requests a minute" {
		t.Errorf("missed are %v", missed)
	}
}

func TestATextIsPutBetweenItsMarksAndNowhereElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("before\n<!-- x -->\nold\n<!-- end of x -->\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Put(file, "x", "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "before\n<!-- x -->\nnew\n<!-- end of x -->\nafter\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := Put(file, "y", "new\n"); err == nil || !strings.Contains(err.Error(), "<!-- y -->") {
		t.Errorf("a file without marks: %v", err)
	}
}

func TestARowIsPutInItsPlaceAndNowhereElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("| | time |\n|---|---|\n| one | 1 s |\n| two | 2 s |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := PutRow(file, "two", "3 s"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "| | time |\n|---|---|\n| one | 1 s |\n| two | 3 s |\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := PutRow(file, "three", "3 s"); err == nil || !strings.Contains(err.Error(), "| three |") {
		t.Errorf("a row that isn't there: %v", err)
	}
}
