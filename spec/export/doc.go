// Package export says in the terms of package spec what a guest is.
//
// [Of] finds the [spec.Machine] that wants a guest just as it is: translated back, it
// gives a plan that changes nothing but our marks. What a spec can't say is left out, so
// that it stays as it is, and is named; so is what a machine that is made anew from the
// spec would be without.
package export
