// Package schema is Proxmox VE's own API schema: every call, its parameters
// and how Proxmox checks them.
//
// [Load] gives the schema of a release. [Schema.Find] maps a request to its
// [Endpoint], and [Endpoint.Verify] checks the parameters of a request as
// Proxmox does, with the texts that Proxmox puts under "errors" of a 400
// answer. [Param.ParseProps] and [Param.PrintProps] read and write property
// strings such as net0, in the form and order that Proxmox stores.
//
// Checks follow Perl where that shows on the wire: a trailing newline passes
// an anchored pattern, \w and \d know Unicode, "0" counts as false. Proxmox
// lists several errors of one property string in the order of a Perl hash,
// which is random; here they are sorted by key.
package schema
