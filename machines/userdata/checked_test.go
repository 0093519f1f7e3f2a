package userdata_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// curl stands for the Internet: the last part of a URL is the name of a file.
const curl = `#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    --output) out="$2"; shift ;;
    https://*) url="$1" ;;
  esac
  shift
done
cp "$INTERNET/${url##*/}" "$out"
`

// What is downloaded is used only if it has the checksum that its release publishes, in whichever way that writes it.
func TestDownloadsThatArentWhatTheReleaseHasAreThrownAway(t *testing.T) {
	script, err := os.ReadFile("node-setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	functions := regexp.MustCompile(`(?ms)^fetch\(\) \{.*?^}\n.*?^checked\(\) \{.*?^}\n`).Find(script)
	if functions == nil {
		t.Fatal("the script has no such functions")
	}
	sum := func(text string) string { b := sha256.Sum256([]byte(text)); return hex.EncodeToString(b[:]) }
	for name, c := range map[string]struct {
		sums string
		good bool
	}{
		"only a checksum":           {sum("binary"), true},
		"name beside it":            {sum("binary") + "  runc.amd64\n", true},
		"name as a binary file":     {sum("other") + " *runc.arm64\n" + sum("binary") + " *runc.amd64\n", true},
		"checksum of another file":  {sum("binary") + "  runc.arm64\n", false},
		"another checksum":          {sum("other") + "  runc.amd64\n", false},
		"nothing":                   {"", false},
		"a page instead of the sum": {"<html>not found</html>\n", false},
	} {
		dir, internet := t.TempDir(), t.TempDir()
		for file, text := range map[string]string{filepath.Join(dir, "curl"): curl, filepath.Join(internet, "runc.amd64"): "binary", filepath.Join(internet, "sums"): c.sums} {
			if err := os.WriteFile(file, []byte(text), 0o700); err != nil { //nolint:gosec // one of them is a program
				t.Fatal(err)
			}
		}
		to := filepath.Join(dir, "runc")
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", string(functions)+"checked https://example.com/v1/runc.amd64 "+to+" https://example.com/v1/sums\necho used")
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "INTERNET="+internet)
		said, err := cmd.CombinedOutput()
		_, kept := os.Stat(to)
		if good := err == nil && kept == nil && strings.Contains(string(said), "used"); good != c.good || !c.good && (kept == nil || !strings.Contains(string(said), "isn't what its release has")) {
			t.Errorf("%s: %v, kept: %v\n%s", name, err, kept == nil, said)
		}
	}
}
