package example

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// packed are the URLs of images that proxplane itself fetches, since Proxmox doesn't unpack them. All others are fetched
// by the simulated nodes, which have an Internet of their own.
var packed = regexp.MustCompile(`https://[^/\s]+(/\S+\.(?:gz|xz|bz2|zst))`)

// Served is the folder of an example, or a copy of it whose packed images are at a server of this test: the network has no
// part in tests.
func Served(t testing.TB, folder string) string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	texts, found := map[string][]byte{}, false
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(f)] = text
		found = found || packed.Match(text)
	}
	if !found {
		return folder
	}
	server := httptest.NewServer(http.HandlerFunc(serveImage))
	t.Cleanup(server.Close)
	copied := filepath.Join(t.TempDir(), filepath.Base(folder))
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(copied, name), packed.ReplaceAll(text, []byte(server.URL+"$1")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

// serveImage answers with an image that boots, packed as its path says.
func serveImage(w http.ResponseWriter, r *http.Request) {
	answer, err := pvesim.BootableImages{}.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(w, answer.Body)
}
