package pve

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// UPID names a task: which process on which node, what it does, and for whom. It can be
// compared and used as a map key. The zero UPID stands for no task.
type UPID struct {
	Node   string
	PID    uint32
	PStart uint64 // the process' start in clock ticks since boot
	Start  int64  // seconds since 1970, by the node's clock
	Type   string // qmclone, qmstart, imgcopy …
	ID     string // what it acts on, mostly the VMID; Proxmox files a clone under its source
	User   string // user@realm or user@realm!token

	text string
}

// Proxmox allows nine digits for pstart: that is uptimes of more than 497 days.
var upidPattern = regexp.MustCompile(`^UPID:([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)` +
	`:([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8})` +
	`:([^:\s\p{Z}/]+):([^:\s\p{Z}/]*):([^:\s\p{Z}/]+):$`)

// ParseUPID reads a UPID:node:pid:pstart:starttime:type:id:user: text.
func ParseUPID(text string) (UPID, error) {
	m := upidPattern.FindStringSubmatch(text)
	if m == nil {
		return UPID{}, fmt.Errorf("%q is not a UPID", text)
	}
	// The pattern lets only hexadecimal digits through, few enough for these sizes.
	pid, _ := strconv.ParseUint(m[2], 16, 32)
	pstart, _ := strconv.ParseUint(m[3], 16, 64)
	start, _ := strconv.ParseInt(m[4], 16, 64)
	return UPID{
		Node: m[1], PID: uint32(pid), PStart: pstart, Start: start,
		Type: m[5], ID: m[6], User: m[7], text: text,
	}, nil
}

// String returns the text that Proxmox gave.
func (u UPID) String() string { return u.text }

// IsZero reports whether this stands for no task.
func (u UPID) IsZero() bool { return u == UPID{} }

// StartTime returns when the task began, by the clock of its node.
func (u UPID) StartTime() time.Time { return time.Unix(u.Start, 0) }

func (u UPID) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// UnmarshalText reads a UPID; an empty text gives the zero UPID.
func (u *UPID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = UPID{}
		return nil
	}
	parsed, err := ParseUPID(string(text))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}
