package pvesim

import "time"

// Guest is the inside of a guest that has booted: what its agent can tell
// and change. It is forgotten when the guest is off.
type Guest struct {
	Files  map[string]string  `json:"files,omitempty"`
	Execs  map[int]*GuestExec `json:"execs,omitempty"`
	PID    int                `json:"pid"` // of the last program that was started
	Frozen bool               `json:"frozen,omitempty"`
}

// GuestExec is a program that was started through the agent.
type GuestExec struct {
	Ends time.Time `json:"ends"`
	Code int       `json:"code"`
	Out  string    `json:"out,omitempty"`
	Err  string    `json:"err,omitempty"`
}

func newGuest() *Guest {
	return &Guest{Files: map[string]string{}, Execs: map[int]*GuestExec{}, PID: 150}
}
