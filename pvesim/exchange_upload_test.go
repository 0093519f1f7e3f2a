package pvesim

import (
	"bytes"
	"mime/multipart"
	"strings"
	"testing"
)

// multipartBody is the body of a request with a file, "filename=@os.qcow2": an image that boots. Its parts are in the order of
// the parameters, which Proxmox cares about. Without a file it is empty.
func multipartBody(t *testing.T, params []string) (contentType, body string) {
	t.Helper()
	if !strings.Contains(strings.Join(params, " "), "=@") {
		return "", ""
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary("conversation"); err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		key, value, _ := strings.Cut(p, "=")
		name, isFile := strings.CutPrefix(value, "@")
		if !isFile {
			if err := w.WriteField(key, value); err != nil {
				t.Fatal(err)
			}
			continue
		}
		part, err := w.CreateFormFile(key, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(BootableImage()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}
