// Package manifest turns what people write into what the engine works on.
//
// [Read] reads YAML from files, folders and the standard input, [FromObjects]
// takes objects that somebody else has read, such as those of Kubernetes. Both
// give a [Set]; [Set.Wanted] checks it, resolves its references and translates
// it into a [model.Desired] for each Proxmox cluster, together with how to reach
// that cluster.
//
// Reading is strict: what isn't known is an error that names the nearest thing
// that is. Words are taken as text where a text belongs, so that powerState: On
// isn't the boolean of YAML 1.1. All that is wrong is told at once, each with its
// file and line. No value of a Secret is ever part of an error.
//
// Two things are more tolerant than YAML or Kubernetes, since people write them
// so:
//
//   - Where the "---" before an object was forgotten, the second apiVersion of
//     the same document begins a new object.
//   - An object with the comment "... existing spec ..." continues the whole
//     object of the same kind and name: what it says takes the place of what is
//     said there, field by field; a list takes the place of a list. Any other
//     second object of the same kind and name is an error.
package manifest
