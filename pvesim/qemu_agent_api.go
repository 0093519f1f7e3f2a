package pvesim

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"
)

const (
	agentPath    = "/nodes/{node}/qemu/{vmid}/agent"
	maxAgentRead = 16 << 20
)

// plainAgentCalls are commands without parameters, with their method.
var plainAgentCalls = map[string]string{
	"ping": "POST", "get-time": "GET", "info": "GET", "fsfreeze-status": "POST", "fsfreeze-freeze": "POST",
	"fsfreeze-thaw": "POST", "fstrim": "POST", "network-get-interfaces": "GET", "get-vcpus": "GET",
	"get-fsinfo": "GET", "get-memory-blocks": "GET", "get-memory-block-info": "GET", "suspend-hybrid": "POST",
	"suspend-ram": "POST", "suspend-disk": "POST", "shutdown": "POST", "get-host-name": "GET", "get-osinfo": "GET",
	"get-users": "GET", "get-timezone": "GET",
}

// qemuAgentRoutes talk to the agent inside the guest.
func qemuAgentRoutes() map[string]handler {
	routes := map[string]handler{
		"GET " + agentPath:                         agentIndex,
		"POST " + agentPath:                        func(c *call) (any, error) { return c.plainAgentCall(c.params.Str("command")) },
		"POST " + agentPath + "/exec":              agentExec,
		"GET " + agentPath + "/exec-status":        agentExecStatus,
		"GET " + agentPath + "/file-read":          agentFileRead,
		"POST " + agentPath + "/file-write":        agentFileWrite,
		"POST " + agentPath + "/set-user-password": agentSetPassword,
	}
	for command, method := range plainAgentCalls {
		routes[method+" "+agentPath+"/"+command] = func(c *call) (any, error) { return c.plainAgentCall(command) }
	}
	return routes
}

func agentIndex(*call) (any, error) {
	names := []string{"exec", "exec-status", "file-read", "file-write", "set-user-password"}
	for command := range plainAgentCalls {
		names = append(names, command)
	}
	slices.Sort(names)
	list := []map[string]any{}
	for _, name := range names {
		list = append(list, map[string]any{"name": name})
	}
	return list, nil
}

// agentVM finds the VM, and makes sure that its agent answers.
func (c *call) agentVM() (*VM, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if _, ok := vm.Conf["agent"]; !ok {
		return nil, die("No QEMU guest agent configured")
	}
	if vm.Run == nil {
		return nil, die("VM %d is not running", vm.ID)
	}
	if !c.agentAnswers(vm) {
		return nil, die("QEMU guest agent is not running")
	}
	return vm, nil
}

func (c *call) plainAgentCall(command string) (any, error) {
	vm, err := c.agentVM()
	if err != nil {
		return nil, err
	}
	if c.machines != nil {
		return c.realAgentCall(vm, command)
	}
	var res any
	switch command {
	case "shutdown", "suspend-disk":
		r := vm.Run
		c.askShutdown(vm)
		// No answer comes: the connection breaks when the VM is off.
		if !c.waitFor(r.gone(), 10*time.Minute) {
			return nil, die("VM %d qga command 'guest-%s' failed - got timeout", vm.ID, command)
		}
	case "suspend-ram", "suspend-hybrid":
		vm.Run.Asleep = true
		c.waitFor(vm.Run.gone(), 5*time.Second)
		return nil, die("VM %d qga command 'guest-%s' failed - got timeout", vm.ID, command)
	default:
		res = c.askAgent(vm, command)
	}
	return map[string]any{"result": res}, nil
}

// agentError is an error that the agent itself reports.
func agentError(format string, args ...any) error { return die("Agent error: "+format, args...) }

func agentExec(c *call) (any, error) {
	command := c.params.List("command")
	if _, err := c.vm(); err != nil {
		return nil, err
	}
	vm, err := c.agentVM()
	if err != nil {
		return nil, err
	}
	input, err := perlBytes(c.params.Str("input-data"))
	if err != nil {
		return nil, err
	}
	if len(command) == 0 {
		return nil, agentError("Guest agent command failed, error was 'Failed to execute child process “” (No such file or directory)'")
	}
	if c.machines != nil {
		return c.realExec(vm, command, input)
	}
	run, err := c.runInGuest(vm, command, input)
	if err != nil {
		return nil, agentError("Guest agent command failed, error was 'Failed to execute child process “%s” (%s)'", command[0], err)
	}
	g := vm.Run.Guest
	g.PID += 2
	g.Execs[g.PID] = run
	return map[string]any{"pid": g.PID}, nil
}

func agentExecStatus(c *call) (any, error) {
	vm, err := c.agentVM()
	if err != nil {
		return nil, err
	}
	pid := c.params.Int("pid")
	if c.machines != nil {
		return c.realExecStatus(vm, pid)
	}
	g := vm.Run.Guest
	run := g.Execs[pid]
	if run == nil {
		return nil, agentError("PID ld does not exist")
	}
	if c.now().Before(run.Ends) {
		return map[string]any{"exited": 0}, nil
	}
	delete(g.Execs, pid) // a status is given once
	out := map[string]any{"exited": 1, "exitcode": run.Code}
	for key, data := range map[string][]byte{"out": run.Out, "err": run.Err} {
		if len(data) == 0 {
			continue
		}
		out[key+"-truncated"] = 0
		if len(data) > maxAgentRead {
			data = data[:maxAgentRead]
			out[key+"-truncated"] = 1
		}
		out[key+"-data"] = latin1(data)
	}
	return out, nil
}

func agentFileRead(c *call) (any, error) {
	vm, err := c.agentVM()
	if err != nil {
		return nil, err
	}
	file, count, offset := c.params.Str("file"), maxAgentRead, c.params.Int("offset")
	if c.params.Has("count") {
		count = c.params.Int("count")
	}
	data, more, err := c.readInGuest(vm, file, offset, count)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if more {
		out["truncated"] = 1
	}
	out["bytes-read"] = len(data)
	out["content"] = latin1(data)
	if c.params.Has("decode") && !c.params.Bool("decode") {
		out["content"] = base64.StdEncoding.EncodeToString(data)
	}
	return out, nil
}

// readInGuest reads up to count bytes of a file after the first skip ones.
// more means that the end wasn't seen: that takes reading past it.
func (c *call) readInGuest(vm *VM, file string, skip, count int) (data []byte, more bool, err error) {
	if c.machines != nil {
		return c.realRead(vm, file, skip, count)
	}
	data, err = vm.Run.Guest.Read(file)
	if err != nil {
		return nil, false, agentError("failed to open file '%s' (mode: 'r'): %s", file, err)
	}
	data = data[min(skip, len(data)):]
	if len(data) >= count {
		return data[:count], true, nil
	}
	return data, false, nil
}

func agentFileWrite(c *call) (any, error) {
	if _, err := c.vm(); err != nil {
		return nil, err
	}
	var data []byte
	content := c.params.Str("content")
	encode := !c.params.Has("encode") || c.params.Bool("encode")
	if encode {
		var err error
		if data, err = perlBytes(content); err != nil {
			return nil, err
		}
	}
	vm, err := c.agentVM()
	if err != nil {
		return nil, err
	}
	file, write := c.params.Str("file"), c.writeInGuest
	if err := write(vm, file, nil); err != nil {
		return nil, err
	}
	if !encode {
		clean := strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n", r) {
				return -1
			}
			return r
		}, content)
		if data, err = base64.StdEncoding.DecodeString(clean); err != nil {
			return nil, agentError("Base64 data '%s' is not valid", content)
		}
	}
	return nil, write(vm, file, data)
}

// writeInGuest replaces a file.
func (c *call) writeInGuest(vm *VM, file string, data []byte) error {
	if c.machines != nil {
		return c.realWrite(vm, file, data)
	}
	if err := vm.Run.Guest.Write(file, data, false); err != nil {
		return agentError("failed to open file '%s' (mode: 'wb'): %s", file, err)
	}
	return nil
}

func agentSetPassword(c *call) (any, error) {
	if _, err := perlBytes(c.params.Str("password")); err != nil {
		return nil, err
	}
	vm, err := c.agentVM()
	if err != nil {
		return nil, err
	}
	if c.machines != nil {
		args := map[string]any{
			"username": c.params.Str("username"), "crypted": c.params.Bool("crypted"),
			"password": base64.StdEncoding.EncodeToString([]byte(c.params.Str("password"))),
		}
		return map[string]any{"result": map[string]any{}}, c.ask(vm, "set-user-password", args, nil)
	}
	if user := c.params.Str("username"); user != "root" && user != vm.Conf["ciuser"] {
		return nil, agentError("child process has failed to set user password: chpasswd: (user %s) pam_chauthtok() failed, error:\nAuthentication token manipulation error\n", user)
	}
	return map[string]any{"result": map[string]any{}}, nil
}

// perlBytes is what Perl encodes of a text: one byte a character. Others
// than Latin 1 make it die.
func perlBytes(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 255 {
			return nil, die("Wide character in subroutine entry at /usr/share/perl5/PVE/API2/Qemu/Agent.pm line 610.")
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// latin1 is how bytes look in Proxmox' JSON: each is a character.
func latin1(data []byte) string {
	var b strings.Builder
	for _, c := range data {
		b.WriteRune(rune(c))
	}
	return b.String()
}
