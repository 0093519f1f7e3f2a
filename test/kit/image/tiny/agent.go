//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// agentPort is the name of the port that QEMU gives the agent.
const agentPort = "org.qemu.guest_agent.0"

// serveAgent answers on the agent's port, for ever.
func serveAgent() {
	port := waitForPort()
	f, err := os.OpenFile(port, os.O_RDWR, 0)
	if err != nil {
		report("agent", err)
		return
	}
	logf("agent on %s", port)
	a := &agent{files: map[int]*os.File{}, running: map[int]*child{}}
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF): // nobody at the other end
			time.Sleep(50 * time.Millisecond)
			continue
		case err != nil:
			report("agent", err)
			return
		}
		if answer := a.answer(line); answer != nil {
			if _, err := f.Write(answer); err != nil {
				report("agent", err)
			}
		}
	}
}

// waitForPort finds the device of the agent's port, which a guest may get
// late or never.
func waitForPort() string {
	for {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, path := range names {
			name, err := os.ReadFile(path)
			if err == nil && strings.TrimSpace(string(name)) == agentPort {
				return filepath.Join("/dev", filepath.Base(filepath.Dir(path)))
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// agent is what the guest agent remembers between commands.
type agent struct {
	files   map[int]*os.File
	running map[int]*child
	frozen  bool
}

// answer is the line to send for a line that came; nil: nothing.
func (a *agent) answer(line []byte) []byte {
	sentinel := bytes.HasPrefix(line, []byte{0xff})
	var q struct {
		Execute   string          `json:"execute"`
		Arguments json.RawMessage `json:"arguments"`
		ID        any             `json:"id"`
	}
	if json.Unmarshal(bytes.TrimLeft(line, "\xff"), &q) != nil {
		return nil
	}
	out := map[string]any{}
	if q.ID != nil {
		out["id"] = q.ID
	}
	if len(q.Arguments) == 0 {
		q.Arguments = json.RawMessage("{}")
	}
	command, known := commands[q.Execute]
	if !known {
		out["error"] = map[string]any{"class": "CommandNotFound", "desc": "The command " + q.Execute + " has not been found"}
	} else if result, err := command(a, q.Arguments); err != nil {
		out["error"] = map[string]any{"class": "GenericError", "desc": err.Error()}
	} else if out["return"] = result; result == nil {
		return nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		report("agent", err)
		return nil
	}
	if sentinel || q.Execute == "guest-sync-delimited" {
		b = append([]byte{0xff}, b...)
	}
	return append(b, '\n')
}
