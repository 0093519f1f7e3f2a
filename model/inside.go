package model

// Exec runs a program in a guest, through the guest agent. It is in no plan. The guest's owner
// is proved right before.
type Exec struct {
	Target
	Owner   Owner
	Command []string // program and arguments; no shell
	Input   []byte   // for its standard input
}

// Program returns the program without its arguments.
func (e Exec) Program() string {
	if len(e.Command) == 0 {
		return "nothing"
	}
	return e.Command[0]
}

// Ran is the result of a program that was run in a guest.
type Ran struct {
	Code     int // the exit code
	Signal   int // the signal that ended it; 0: none
	Out, Err string
	Cut      bool // Proxmox has truncated Out or Err
}

// ReadFile reads a file in a guest, through the guest agent. It is in no plan. The guest's owner
// is proved right before.
type ReadFile struct {
	Target
	Owner Owner
	File  string
}
