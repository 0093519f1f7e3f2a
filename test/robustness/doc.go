// Package robustness lives through thousands of histories in virtual time and
// checks that nothing is lost, nothing is doubled and nothing foreign is
// touched.
//
// A history is drawn from a seed: a world, wishes, faults, crashes of our
// process, other people. The engine, the client and the simulator are the real
// ones, in one process and without a network; minutes pass in milliseconds. What
// is drawn depends on nothing but the seed, so that a failure can be repeated:
//
//	go test ./test/robustness -run Seed -seed 4711
//
// Without flags the first 500 are lived through. Others are asked for:
//
//	go test ./test/robustness -run Histories -first 500 -seeds 1000
//
// README.md tells what is where, and what was found.
package robustness
