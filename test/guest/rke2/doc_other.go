//go:build !linux

// Command rke2 stands in for RKE2 in real guests of the tests, which run Linux.
package main

func main() {}
