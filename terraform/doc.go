// Package terraform is the door for Terraform and OpenTofu: a provider whose resources are
// the machines, images and manifests of the vm door.
//
// What a resource can say is read from the definitions of the kinds ([crds.Spec]), so the door
// has every field that a manifest has. A resource becomes manifests again, which are checked and
// translated as files are, and reconciled by the engine. All resources of a provider share one
// site: what they want is one set, planned and admitted together.
package terraform
