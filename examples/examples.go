// Package examples has manifests to begin with. Every one is a test.
package examples

import "embed"

// Quickstart is the folder quickstart: an image, three machines and a snapshot.
//
//go:embed quickstart
var Quickstart embed.FS

// Cluster is the folder cluster: the file of a Kubernetes cluster.
//
//go:embed cluster
var Cluster embed.FS
