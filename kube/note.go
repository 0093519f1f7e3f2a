package kube

import "strings"

// maxNote is how long the text of an event or of a condition gets. Kubernetes refuses events with more than 1,024 bytes.
const maxNote = 1000

// Note shortens a text so that an event can have it. No character is split.
func Note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "…"
}
