package prop

// Agent says how Proxmox talks to the guest agent: agent.
type Agent struct {
	Enabled           bool
	Type              string // "isa"; absent: "virtio"
	FstrimClonedDisks bool
	FreezeFS          Opt[bool] // absent: true
	Rest
}

// Version 9 calls it freeze-fs and takes the name of version 8 as well.
var agentForm = form{
	name: "agent",
	key:  "enabled",
	need: []string{"enabled"},
	aliases: map[string]string{
		"freeze-fs":      "freeze-fs-on-backup",
		"guest-fsfreeze": "freeze-fs-on-backup",
	},
}

func (a *Agent) fields() []field {
	return []field{
		flag("enabled", &a.Enabled).always("0").or("0"),
		flag("fstrim_cloned_disks", &a.FstrimClonedDisks),
		optFlag("freeze-fs-on-backup", &a.FreezeFS).or("1"),
		bind("type", &a.Type, text).or("virtio"),
	}
}

// ParseAgent parses the value of agent.
func ParseAgent(s string) (Agent, error) {
	var a Agent
	if err := agentForm.read(s, a.fields(), &a.Rest); err != nil {
		return Agent{}, err
	}
	return a, nil
}

func (a Agent) String() string { return agentForm.write(a.fields(), a.Rest) }

// Equal reports whether both mean the same. The other options of an agent that
// isn't enabled mean nothing.
func (a Agent) Equal(o Agent) bool {
	if !a.Enabled && !o.Enabled {
		return true
	}
	return equal(a.fields(), o.fields(), a.Rest, o.Rest)
}
