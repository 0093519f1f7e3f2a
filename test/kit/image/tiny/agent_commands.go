//go:build linux

package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type command func(a *agent, args json.RawMessage) (any, error)

// with makes a command of a function that takes its arguments as a struct.
func with[T any](fn func(a *agent, args T) (any, error)) command {
	return func(a *agent, raw json.RawMessage) (any, error) {
		var args T
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, err
		}
		return fn(a, args)
	}
}

type none struct{}

// commands are those that the agent knows. A nil result is no answer.
var commands map[string]command

func init() {
	commands = map[string]command{
		"guest-ping":           with(func(*agent, none) (any, error) { return none{}, nil }),
		"guest-sync":           with(func(_ *agent, q syncArgs) (any, error) { return q.ID, nil }),
		"guest-sync-delimited": with(func(_ *agent, q syncArgs) (any, error) { return q.ID, nil }),
		"guest-info":           with(info),
		"guest-get-time":       with(func(*agent, none) (any, error) { return time.Now().UnixNano(), nil }),
		"guest-get-host-name":  with(hostName),
		"guest-get-osinfo": with(func(*agent, none) (any, error) {
			return map[string]any{"id": "tiny", "name": "tiny", "pretty-name": "tiny, for tests", "machine": "x86_64"}, nil
		}),
		"guest-get-vcpus":              with(cpus),
		"guest-get-memory-blocks":      with(memoryBlocks),
		"guest-network-get-interfaces": with(interfaces),
		"guest-get-fsinfo":             with(func(*agent, none) (any, error) { return []any{}, nil }),
		"guest-fsfreeze-status":        with(freezeStatus),
		"guest-fsfreeze-freeze":        with(func(a *agent, _ none) (any, error) { a.frozen = true; return 0, nil }),
		"guest-fsfreeze-thaw":          with(func(a *agent, _ none) (any, error) { a.frozen = false; return 0, nil }),
		"guest-exec":                   with(startProgram),
		"guest-exec-status":            with(programStatus),
		"guest-file-open":              with(openFile),
		"guest-file-read":              with(readFile),
		"guest-file-write":             with(fileWrite),
		"guest-file-close":             with(closeFile),
		"guest-shutdown":               with(shutDown),
	}
}

type syncArgs struct {
	ID json.Number `json:"id"`
}

func info(*agent, none) (any, error) {
	var list []map[string]any
	for name := range commands {
		list = append(list, map[string]any{"name": name, "enabled": true, "success-response": name != "guest-shutdown"})
	}
	return map[string]any{"version": "1.0-tiny", "supported_commands": list}, nil
}

func hostName(*agent, none) (any, error) {
	name, err := os.Hostname()
	return map[string]any{"host-name": name}, err
}

func cpus(*agent, none) (any, error) {
	dirs, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	var list []map[string]any
	for _, dir := range dirs {
		id, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "cpu"))
		online, missing := os.ReadFile(filepath.Join(dir, "online")) // the first has none
		list = append(list, map[string]any{
			"logical-id": id, "online": missing != nil || strings.TrimSpace(string(online)) == "1", "can-offline": missing == nil,
		})
	}
	return list, err
}

func memoryBlocks(*agent, none) (any, error) {
	dirs, err := filepath.Glob("/sys/devices/system/memory/memory[0-9]*")
	list := []map[string]any{}
	for _, dir := range dirs {
		id, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "memory"))
		state, _ := os.ReadFile(filepath.Join(dir, "state"))
		list = append(list, map[string]any{"phys-index": id, "online": strings.TrimSpace(string(state)) == "online", "can-offline": true})
	}
	return list, err
}

func interfaces(*agent, none) (any, error) {
	all, err := net.Interfaces()
	var list []map[string]any
	for _, i := range all {
		entry := map[string]any{"name": i.Name}
		if len(i.HardwareAddr) > 0 {
			entry["hardware-address"] = i.HardwareAddr.String()
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		var ips []map[string]any
		for _, addr := range addrs {
			n, ok := addr.(*net.IPNet)
			if !ok {
				continue
			}
			kind := "ipv6"
			if n.IP.To4() != nil {
				kind = "ipv4"
			}
			bits, _ := n.Mask.Size()
			ips = append(ips, map[string]any{"ip-address": n.IP.String(), "ip-address-type": kind, "prefix": bits})
		}
		if ips != nil {
			entry["ip-addresses"] = ips
		}
		list = append(list, entry)
	}
	return list, err
}

func freezeStatus(a *agent, _ none) (any, error) {
	if a.frozen {
		return "frozen", nil
	}
	return "thawed", nil
}

// handle is how the protocol names an open file.
type handle struct {
	Handle int `json:"handle"`
}

func openFile(a *agent, q struct{ Path, Mode string }) (any, error) {
	flags := os.O_RDONLY
	switch {
	case strings.HasPrefix(q.Mode, "w"):
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	case strings.HasPrefix(q.Mode, "a"):
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := os.OpenFile(q.Path, flags, 0o644)
	if err != nil {
		if pe := new(os.PathError); errors.As(err, &pe) {
			return nil, fmt.Errorf("failed to open file '%s' (mode: '%s'): %w", q.Path, q.Mode, pe.Err)
		}
		return nil, err
	}
	id := 1000 + int(f.Fd())
	a.files[id] = f
	return id, nil
}

func (a *agent) file(id int) (*os.File, error) {
	f := a.files[id]
	if f == nil {
		return nil, fmt.Errorf("handle '%d' has not been found", id)
	}
	return f, nil
}

func readFile(a *agent, q struct {
	handle
	Count int `json:"count"`
}) (any, error) {
	f, err := a.file(q.Handle)
	if err != nil {
		return nil, err
	}
	if q.Count == 0 {
		q.Count = 4096
	}
	buf := make([]byte, q.Count)
	n, err := io.ReadFull(f, buf)
	eof := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !eof {
		return nil, err
	}
	return map[string]any{"count": n, "buf-b64": base64.StdEncoding.EncodeToString(buf[:n]), "eof": eof}, nil
}

func fileWrite(a *agent, q struct {
	handle
	Data string `json:"buf-b64"`
}) (any, error) {
	f, err := a.file(q.Handle)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(q.Data)
	if err != nil {
		return nil, err
	}
	n, err := f.Write(data)
	return map[string]any{"count": n, "eof": false}, err
}

func closeFile(a *agent, q handle) (any, error) {
	f, err := a.file(q.Handle)
	if err != nil {
		return nil, err
	}
	delete(a.files, q.Handle)
	return none{}, f.Close()
}

func shutDown(_ *agent, q struct{ Mode string }) (any, error) {
	how := syscall.LINUX_REBOOT_CMD_POWER_OFF
	switch q.Mode {
	case "reboot":
		how = syscall.LINUX_REBOOT_CMD_RESTART
	case "halt":
		how = syscall.LINUX_REBOOT_CMD_HALT
	}
	syscall.Sync()
	return nil, syscall.Reboot(how)
}
