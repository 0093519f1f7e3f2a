// Package export describes an existing guest in the terms of package spec.
//
// [Of] finds the [spec.Machine] that wants a guest just as it is: its plan changes nothing
// but our marks. Settings that a spec doesn't have are omitted, so that they stay as they
// are, and are listed; so are settings that a recreated machine would lack.
package export
