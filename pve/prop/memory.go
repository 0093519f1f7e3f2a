package prop

// Memory is the memory of a VM: memory.
type Memory struct {
	MiB int // absent: 512
	Rest
}

var memoryForm = form{name: "memory", key: "current", need: []string{"current"}}

func (m *Memory) fields() []field {
	return []field{bind("current", &m.MiB, integer(16, maxInt)).or("512")}
}

// ParseMemory parses the value of memory: "2048", "current=2048".
func ParseMemory(s string) (Memory, error) {
	var m Memory
	if err := memoryForm.read(s, m.fields(), &m.Rest); err != nil {
		return Memory{}, err
	}
	return m, nil
}

func (m Memory) String() string { return memoryForm.write(m.fields(), m.Rest) }

// Equal reports whether both are the same amount.
func (m Memory) Equal(o Memory) bool { return equal(m.fields(), o.fields(), m.Rest, o.Rest) }

// NUMA is one node of the VM's NUMA topology: numa0, numa1 …
type NUMA struct {
	CPUs      []string // "0-3", "5"
	Memory    float64  // MiB
	HostNodes []string
	Policy    string // "preferred", "bind", "interleave"
	Rest
}

var numaForm = form{name: "NUMA node", need: []string{"cpus"}}

func (n *NUMA) fields() []field {
	return []field{
		words("cpus", &n.CPUs),
		words("hostnodes", &n.HostNodes),
		bind("memory", &n.Memory, number),
		bind("policy", &n.Policy, text),
	}
}

// ParseNUMA parses the value of a numa key.
func ParseNUMA(s string) (NUMA, error) {
	var n NUMA
	if err := numaForm.read(s, n.fields(), &n.Rest); err != nil {
		return NUMA{}, err
	}
	return n, nil
}

func (n NUMA) String() string { return numaForm.write(n.fields(), n.Rest) }

// Equal reports whether both are the same node.
func (n NUMA) Equal(o NUMA) bool { return equal(n.fields(), o.fields(), n.Rest, o.Rest) }
