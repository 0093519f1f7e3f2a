// Package examples has manifests to begin with. Every one is a test.
package examples

import "embed"

// Quickstart is the folder quickstart: an image, three machines and a snapshot.
//
//go:embed quickstart
var Quickstart embed.FS
