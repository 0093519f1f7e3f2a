// Package outside runs the real programs as processes, as people and machines do:
// it starts them, reads what they say, sends them signals, kills them, and looks at
// what became of the simulated Proxmox that they worked on, which is a process of
// its own too and speaks TLS.
//
// [Start] and [StartSim] know nothing of a certain program or test, so that other
// front doors can be tried in the same way. Moments are never a matter of time:
// [Process.Await] waits for a line of output, [Sim.Await] for the nth request.
package outside
