// Package crds holds the custom resource definitions, which are made from the
// types in api: what Kubernetes checks objects by, and where the command line has
// the descriptions of fields from.
package crds

import "embed"

// Files are the definitions, one file a kind.
//
//go:embed *.yaml
var Files embed.FS

// Karpenter are the definitions of the kinds that Karpenter's nodes are made by, one file a kind.
//
//go:embed karpenter/*.yaml
var Karpenter embed.FS

// Machines are those of the group cluster.k8s.io, which the chart brings along only when it is asked to:
// who has machine-controller has them already.
//
//go:embed machines/*.yaml
var Machines embed.FS
