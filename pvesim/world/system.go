package world

// System is what a disk holds. It decides what happens after the start.
type System string

const (
	// Blank disks don't boot: no agent answers, no shutdown is heard.
	Blank System = ""
	// WithAgent is a system that boots and runs the guest agent.
	WithAgent System = "agent"
	// WithoutAgent is a system that boots and has no guest agent.
	WithoutAgent System = "plain"
	// NoSystem says in a world that an image is blank: there, saying nothing
	// means WithAgent.
	NoSystem System = "none"
)

// Meant returns the value that a world means by it.
func (s System) Meant() System {
	switch s {
	case "":
		return WithAgent
	case NoSystem:
		return Blank
	}
	return s
}

// Kernel is what a guest boots whose disk has no boot loader of its own.
type Kernel struct {
	Kernel string `json:"kernel"`
	Initrd string `json:"initrd,omitempty"`
	Append string `json:"append,omitempty"` // command line
}
