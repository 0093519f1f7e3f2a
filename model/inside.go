package model

// Exec runs a program in a guest, through the guest agent. No plan has it. That the guest is its
// owner's is proved right before.
type Exec struct {
	Target
	Owner   Owner
	Command []string // program and arguments; no shell
	Input   []byte   // for its standard input
}

// Program is what is run, without its arguments.
func (e Exec) Program() string {
	if len(e.Command) == 0 {
		return "nothing"
	}
	return e.Command[0]
}

// Ran is what came of a program that was run in a guest.
type Ran struct {
	Code     int // the exit code
	Signal   int // that ended it; 0: none
	Out, Err string
	Cut      bool // Proxmox has left out a part of Out or Err
}

// ReadFile reads a file in a guest, through the guest agent. No plan has it. That the guest is its
// owner's is proved right before.
type ReadFile struct {
	Target
	Owner Owner
	File  string
}
