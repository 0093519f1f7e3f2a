// Package status formats plans and states for people: as sentences, conditions and tables.
//
// Everything here is a pure function, so that the command line and the operator
// say the same about the same object. Colours and the width of the screen are
// arguments; nothing is printed.
package status
