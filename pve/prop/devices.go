package prop

import (
	"fmt"
	"regexp"
)

// VGA is the display: vga.
type VGA struct {
	Type      string // "serial0", "virtio", "none"; absent: "std"
	Memory    int    // MiB, 0: as is right for the type
	Clipboard string // "vnc"
	Rest
}

var vgaForm = form{name: "display", key: "type"}

func (v *VGA) fields() []field {
	return []field{
		bind("type", &v.Type, text).or("std"),
		bind("clipboard", &v.Clipboard, text),
		bind("memory", &v.Memory, integer(4, 512)),
	}
}

// ParseVGA parses the value of vga.
func ParseVGA(s string) (VGA, error) {
	var v VGA
	if err := vgaForm.read(s, v.fields(), &v.Rest); err != nil {
		return VGA{}, err
	}
	return v, nil
}

func (v VGA) String() string { return vgaForm.write(v.fields(), v.Rest) }

// Equal reports whether both are the same display.
func (v VGA) Equal(o VGA) bool { return equal(v.fields(), o.fields(), v.Rest, o.Rest) }

// Watchdog resets a VM that hangs: watchdog.
type Watchdog struct {
	Model  string // "ib700"; absent: "i6300esb"
	Action string // "reset", "shutdown", "poweroff", "pause", "debug", "none"
	Rest
}

var watchdogForm = form{name: "watchdog", key: "model"}

func (w *Watchdog) fields() []field {
	return []field{
		bind("model", &w.Model, text).or("i6300esb"),
		bind("action", &w.Action, text),
	}
}

// ParseWatchdog parses the value of watchdog.
func ParseWatchdog(s string) (Watchdog, error) {
	var w Watchdog
	if err := watchdogForm.read(s, w.fields(), &w.Rest); err != nil {
		return Watchdog{}, err
	}
	return w, nil
}

func (w Watchdog) String() string { return watchdogForm.write(w.fields(), w.Rest) }

// Equal reports whether both are the same watchdog.
func (w Watchdog) Equal(o Watchdog) bool { return equal(w.fields(), o.fields(), w.Rest, o.Rest) }

// RNG is a source of randomness for the VM: rng0.
type RNG struct {
	Source   string   // "/dev/urandom"
	MaxBytes Opt[int] // in each period, 0: no limit; absent: 1024
	Period   Opt[int] // milliseconds; absent: 1000
	Rest
}

var rngForm = form{name: "RNG", key: "source", need: []string{"source"}}

func (r *RNG) fields() []field {
	return []field{
		bind("source", &r.Source, text),
		bindOpt("max_bytes", &r.MaxBytes, natural).or("1024"),
		bindOpt("period", &r.Period, natural).or("1000"),
	}
}

// ParseRNG parses the value of rng0.
func ParseRNG(s string) (RNG, error) {
	var r RNG
	if err := rngForm.read(s, r.fields(), &r.Rest); err != nil {
		return RNG{}, err
	}
	return r, nil
}

func (r RNG) String() string { return rngForm.write(r.fields(), r.Rest) }

// Equal reports whether both are the same source.
func (r RNG) Equal(o RNG) bool { return equal(r.fields(), o.fields(), r.Rest, o.Rest) }

// Serial is a serial port: "socket", or a device of the node. serial0 … serial3
type Serial string

// SerialSocket makes the port reachable from the node, as a terminal.
const SerialSocket Serial = "socket"

var serialText = regexp.MustCompile(`^(/dev/[^,]+|socket)$`)

// ParseSerial parses the value of a serial key.
func ParseSerial(s string) (Serial, error) {
	if !serialText.MatchString(s) {
		return "", fmt.Errorf("parse serial port %q: neither socket nor below /dev", s)
	}
	return Serial(s), nil
}

func (s Serial) String() string { return string(s) }
