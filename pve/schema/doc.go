// Package schema is Proxmox VE's own API schema: every call, its parameters
// and how Proxmox checks them.
//
// [Load] gives the schema of a release. [Schema.Find] maps a request to its
// [Endpoint], and [Endpoint.Verify] checks the parameters of a request as
// Proxmox does, with the texts that Proxmox puts under "errors" of a 400
// answer. [Param.ParseProps] and [Param.PrintProps] read and write property
// strings such as net0, in the form and order that Proxmox stores.
//
// Checks follow Perl where that shows on the wire: a final newline passes an
// anchored pattern, \w and \d know Unicode, "0" counts as false. Proxmox lists
// several errors of one property string in the order of a Perl hash, which is
// random; here they are sorted by key. 8.4 has its own texts and rules where
// they differ from 9.2.
//
// What passes without a look:
//   - the format "string", which takes anything in Proxmox too;
//   - start-address and end-address of pve-sdn-dhcp-range, whose type "ip" is
//     none that Proxmox checks;
//   - custom CPU models, unless [CPUModels] says which there are.
//
// The text after a failed JSON parse in pve-command-batch is only like that of
// Proxmox. An address list of the firewall accepts what Perl's Net::IP accepts,
// but for an incomplete IPv4 address inside of an IPv6 address.
package schema
