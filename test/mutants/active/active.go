// Package active is compiled into mutated packages: it says which mutant is on, and runs the tests of a package with one mutant after
// the other in one process.
package active

import (
	"sync"
	"sync/atomic"
)

var (
	now    atomic.Int64
	listed atomic.Pointer[sync.Map] // the mutants that a test comes by, when that is asked for
)

// Is reports whether mutant n is on.
func Is(n int) bool {
	if m := listed.Load(); m != nil {
		m.Store(n, true)
	}
	return int64(n) == now.Load()
}

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Plus is a sum, and a difference in mutant n.
func Plus[T number](n int, a, b T) T {
	if Is(n) {
		return a - b
	}
	return a + b
}

// Minus is a difference, and a sum in mutant n.
func Minus[T number](n int, a, b T) T {
	if Is(n) {
		return a + b
	}
	return a - b
}

// Times is a product, and a quotient in mutant n.
func Times[T number](n int, a, b T) T {
	if Is(n) {
		return a / b
	}
	return a * b
}

// Over is a quotient, and a product in mutant n.
func Over[T number](n int, a, b T) T {
	if Is(n) {
		return a * b
	}
	return a / b
}
