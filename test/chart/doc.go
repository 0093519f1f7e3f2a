// Package chart holds the tests of deploy/chart: with the real helm, a real
// Kubernetes API and the simulator.
package chart
