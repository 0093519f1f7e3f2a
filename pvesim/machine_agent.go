package pvesim

import (
	"encoding/base64"
	"encoding/json"
	"time"
)

// realAgentCall has the agent of a guest that really runs answer a command
// without parameters.
func (c *call) realAgentCall(vm *VM, command string) (any, error) {
	res, err := c.agent(vm, command, nil)
	if err != nil {
		return nil, err
	}
	switch command {
	case "shutdown", "suspend-disk":
		if r := vm.Run; r != nil && !c.waitFor(r.gone(), 10*time.Minute) {
			return nil, die("VM %d qga command 'guest-%s' failed - got timeout", vm.ID, command)
		}
		return map[string]any{"result": nil}, nil
	}
	return map[string]any{"result": res}, nil
}

// ask has the agent do something, and reads its answer.
func (c *call) ask(vm *VM, command string, args, out any) error {
	res, err := c.agent(vm, command, args)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(res, out); err != nil {
		return agentError("%v", err)
	}
	return nil
}

// realExec starts a program in a guest that really runs.
func (c *call) realExec(vm *VM, command []string, input []byte) (any, error) {
	args := map[string]any{"path": command[0], "arg": command[1:], "capture-output": true}
	if len(input) > 0 {
		args["input-data"] = base64.StdEncoding.EncodeToString(input)
	}
	var out map[string]any
	return out, c.ask(vm, "exec", args, &out)
}

// realExecStatus is how such a program is doing. Its output is decoded, and
// booleans are numbers, as Proxmox sends them.
func (c *call) realExecStatus(vm *VM, pid int) (any, error) {
	var out map[string]any
	if err := c.ask(vm, "exec-status", map[string]any{"pid": pid}, &out); err != nil {
		return nil, err
	}
	for key, value := range out {
		switch v := value.(type) {
		case bool:
			out[key] = 0
			if v {
				out[key] = 1
			}
		case string:
			data, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return nil, agentError("%v", err)
			}
			out[key] = latin1(data)
		}
	}
	return out, nil
}

// realFile opens a file in a guest that really runs, while fn works with it.
func (c *call) realFile(vm *VM, path, mode string, fn func(handle int) error) error {
	var handle int
	if err := c.ask(vm, "file-open", map[string]any{"path": path, "mode": mode}, &handle); err != nil {
		return err
	}
	err := fn(handle)
	if closed := c.ask(vm, "file-close", map[string]any{"handle": handle}, nil); err == nil {
		err = closed
	}
	return err
}

// agentChunk is how much of a file Proxmox asks for at once.
const agentChunk = 1 << 20

// realRead reads up to count bytes of a file after the first skip ones, and
// reports whether there may be more.
func (c *call) realRead(vm *VM, path string, skip, count int) (data []byte, more bool, err error) {
	err = c.realFile(vm, path, "rb", func(handle int) error {
		more = true
		for len(data) < skip+count {
			var part struct {
				Count int    `json:"count"`
				Data  string `json:"buf-b64"`
				EOF   bool   `json:"eof"`
			}
			args := map[string]any{"handle": handle, "count": min(agentChunk, skip+count-len(data))}
			if err := c.ask(vm, "file-read", args, &part); err != nil {
				return err
			}
			b, err := base64.StdEncoding.DecodeString(part.Data)
			if err != nil {
				return agentError("%v", err)
			}
			data = append(data, b...)
			if part.EOF || part.Count == 0 {
				more = false
				return nil
			}
		}
		return nil
	})
	return data[min(skip, len(data)):], more, err
}

// realWrite replaces a file.
func (c *call) realWrite(vm *VM, path string, data []byte) error {
	return c.realFile(vm, path, "wb", func(handle int) error {
		return c.ask(vm, "file-write", map[string]any{"handle": handle, "buf-b64": base64.StdEncoding.EncodeToString(data)}, nil)
	})
}
