package firstboot

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// Format is the format of user-data.
type Format string

// The formats that are distinguished. cloud-init has others, which aren't checked.
const (
	CloudConfig Format = "cloud-config"
	Script      Format = "script"
	Multipart   Format = "multipart"
	Talos       Format = "talos"
	IgnitionDoc Format = "ignition"
	OtherFormat Format = "other"   // cloud-init knows it
	NoFormat    Format = "unknown" // cloud-init would ignore it
)

// otherBegins are the beginnings of further formats that cloud-init knows.
var otherBegins = []string{"#include", "#cloud-boothook", "#part-handler", "## template:", "#cloud-config-archive", "\x1f\x8b"}

// FormatOf says what user-data is written in, as the guest would.
func FormatOf(text string) Format {
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.TrimSpace(first) == "#cloud-config":
		return CloudConfig
	case strings.HasPrefix(text, "#!"):
		return Script
	case hasHeader(text, "Content-Type:") || hasHeader(text, "MIME-Version:"):
		return Multipart
	case isIgnition(text):
		return IgnitionDoc
	case isTalos(text):
		return Talos
	}
	for _, begin := range otherBegins {
		if strings.HasPrefix(text, begin) {
			return OtherFormat
		}
	}
	return NoFormat
}

// hasHeader reports whether a text begins with a header of a mail.
func hasHeader(text, name string) bool {
	return len(text) >= len(name) && strings.EqualFold(text[:len(name)], name)
}

// CheckUserData refuses user-data that the guest couldn't read. What else it
// means is up to the guest.
func CheckUserData(text string) error {
	switch FormatOf(text) {
	case CloudConfig:
		return checkCloudConfig(text)
	case Multipart:
		return checkMultipart(text)
	case Talos:
		return checkTalos(text)
	case IgnitionDoc:
		_, err := CheckIgnition(text)
		return err
	}
	return nil
}

func checkCloudConfig(text string) error {
	var v any
	if err := DecodeYAML(text, &v); err != nil {
		return err
	}
	if _, ok := v.(map[string]any); v != nil && !ok {
		return &TextError{Text: "this is no valid cloud-config: it isn't a mapping"}
	}
	return nil
}

// checkMultipart reads all parts, as cloud-init does, and checks those that are
// cloud-configs.
func checkMultipart(text string) error {
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return &TextError{Line: 1, Column: 1, Text: "this begins as MIME multipart does, but its header can't be read: " + err.Error()}
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return &TextError{Text: fmt.Sprintf("its Content-Type can't be read: %v", err)}
	case !strings.HasPrefix(kind, "multipart/"):
		return nil // a single part
	case params["boundary"] == "":
		return &TextError{Text: "its Content-Type has no boundary"}
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for n := 1; ; n++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			if n == 1 {
				return &TextError{Text: "it has no parts"}
			}
			return nil
		}
		if err != nil {
			return &TextError{Text: fmt.Sprintf("part %d can't be read: %v", n, err)}
		}
		if err := checkPart(part); err != nil {
			return fmt.Errorf("part %d: %w", n, err)
		}
	}
}

func checkPart(part *multipart.Part) error {
	body, err := io.ReadAll(part)
	if err != nil {
		return fmt.Errorf("it has no end: %w", err)
	}
	encoding := strings.ToLower(part.Header.Get("Content-Transfer-Encoding"))
	plain := encoding == "" || encoding == "7bit" || encoding == "8bit" || encoding == "binary"
	kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if plain && (kind == "text/cloud-config" || FormatOf(string(body)) == CloudConfig) {
		return checkCloudConfig(string(body))
	}
	return nil
}
