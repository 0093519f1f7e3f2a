// Package child is for programs that tests start: none of them outlives its test,
// however that ends.
package child
