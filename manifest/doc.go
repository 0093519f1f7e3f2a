// Package manifest translates the manifests that people write into the wanted state for
// the engine.
//
// [Read] reads YAML from files, folders and the standard input, [FromObjects] takes objects
// that were read elsewhere, such as those of Kubernetes. Both give a [Set]; [Set.Wanted]
// checks it, resolves its references and has package spec translate it into a
// [model.Desired] for each Proxmox cluster, together with the connection to that cluster.
//
// Reading is strict: an unknown field is an error that names the nearest known one. Words
// are read as text where the field is a text, so that powerState: On isn't the boolean of
// YAML 1.1. All errors are reported at once, each with its file and line. No value of a
// Secret is ever part of an error.
//
// One thing is more tolerant than YAML or Kubernetes, since people write it so: where
// the "---" before an object was forgotten, the second apiVersion of the same document
// begins a new object. A second object of the same kind and name is an error, and a
// comment means nothing.
package manifest
