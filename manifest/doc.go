// Package manifest turns what people write into what the engine works on.
//
// [Read] reads YAML from files, folders and the standard input, [FromObjects]
// takes objects that somebody else has read, such as those of Kubernetes. Both
// give a [Set]; [Set.Wanted] checks it, resolves its references and has package
// spec translate it into a [model.Desired] for each Proxmox cluster, together with how
// to reach that cluster.
//
// Reading is strict: what isn't known is an error that names the nearest thing
// that is. Words are taken as text where a text belongs, so that powerState: On
// isn't the boolean of YAML 1.1. All that is wrong is told at once, each with its
// file and line. No value of a Secret is ever part of an error.
//
// One thing is more tolerant than YAML or Kubernetes, since people write it so: where
// the "---" before an object was forgotten, the second apiVersion of the same document
// begins a new object. A second object of the same kind and name is an error, and a
// comment means nothing.
package manifest
