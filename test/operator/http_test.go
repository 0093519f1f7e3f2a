package operator_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/proxplane/proxplane/test/kit/controlplane"
)

// freeAddresses are some that nobody listens on.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	ports, err := controlplane.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range ports {
		list = append(list, fmt.Sprintf("127.0.0.1:%d", p))
	}
	return list
}

// get reads a page; empty: it can't be read.
func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return ""
	}
	return string(text)
}
