package pvesim

import "github.com/proxplane/proxplane/pvesim/world"

// What a simulator is started with, under the names by which those who start one know it.
type (
	// World says what a simulator starts with and how it behaves.
	World = world.World
	// WorldNode is a host.
	WorldNode = world.Node
	// WorldBridge is a bridge of a node.
	WorldBridge = world.Bridge
	// WorldStorage is an entry of storage.cfg, with what is on it at the start.
	WorldStorage = world.Storage
	// WorldVolume is a file on a storage: an ISO, an image, a snippet.
	WorldVolume = world.Volume
	// WorldUser is a user with its tokens.
	WorldUser = world.User
	// WorldToken is an API token.
	WorldToken = world.Token
	// WorldRole is a role made by people.
	WorldRole = world.Role
	// WorldACL grants a role.
	WorldACL = world.ACL
	// WorldPool is a resource pool.
	WorldPool = world.Pool
	// WorldGuest is a VM that is there from the start.
	WorldGuest = world.Guest
	// WorldContainer is a container that is there from the start.
	WorldContainer = world.Container
	// WorldSystem puts an operating system onto the disks of a VM.
	WorldSystem = world.Installed
	// WorldDHCP is where guests without a static address get theirs.
	WorldDHCP = world.DHCP
	// Timing says how long things take.
	Timing = world.Timing
	// Locks says how many may hold a lock at once.
	Locks = world.Locks
	// Load makes the daemons as slow as they are.
	Load = world.Load
	// Fault is a rule that makes something go wrong.
	Fault = world.Fault
	// System is what a disk holds.
	System = world.System
	// Kernel is what a guest boots whose disk has no boot loader of its own.
	Kernel = world.Kernel
	// NodeState says whether a node can be reached.
	NodeState = world.NodeState
	// Duration is a time.Duration that is written as "2s".
	Duration = world.Duration
	// Size is a number of bytes that is written as "24Gi".
	Size = world.Size
)

// The states of nodes and the systems on disks, see package world.
const (
	Online       = world.Online
	Offline      = world.Offline
	Unreachable  = world.Unreachable
	Blank        = world.Blank
	WithAgent    = world.WithAgent
	WithoutAgent = world.WithoutAgent
	NoSystem     = world.NoSystem
)

// DefaultWorld returns a small lab: three nodes, local and shared storages, a template.
func DefaultWorld() *World { return world.Default() }

// LoadWorld reads a world from a YAML file.
func LoadWorld(path string) (*World, error) { return world.Read(path) }

// ParseWorld reads a world from YAML. Unknown fields are errors.
func ParseWorld(b []byte) (*World, error) { return world.Parse(b) }
