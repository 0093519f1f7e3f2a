package pvesim

import (
	"fmt"
	"strconv"
	"strings"
)

// hookOutput is what a simulated hook script prints and how it ends.
//
// Scripts aren't run, unless guests are. Those that are plain shell of the kind
//
//	echo "hook $*"; exit 0
//
// do what they say: echo with $*, $1 (the VMID), $2 (the phase) and other
// variables, true, false and exit, joined by ; && and ||. Other commands
// succeed and print nothing, and so do scripts with loops, functions and the
// like as a whole.
func hookOutput(script string, vmid int, phase string) (lines []string, code int) {
	list, err := parseShell(script)
	if err != nil {
		return nil, 0
	}
	p := &process{vars: map[string]string{"1": strconv.Itoa(vmid), "2": phase}}
	for _, c := range list {
		if c.join == "&&" && p.code != 0 || c.join == "||" && p.code == 0 {
			continue
		}
		var words []string
		for _, w := range c.words {
			words = append(words, p.expand(w)...)
		}
		p.code = 0
		if len(words) == 0 {
			continue
		}
		switch name, value, set := strings.Cut(words[0], "="); {
		case set && isName(name):
			p.vars[name] = value
		case words[0] == "echo":
			lines = append(lines, strings.Join(words[1:], " "))
		case words[0] == "false":
			p.code = 1
		case words[0] == "exit":
			if len(words) > 1 {
				p.code, _ = strconv.Atoi(words[1])
			}
			return lines, p.code
		}
	}
	return lines, p.code
}

// hook runs the VM's hook script. An error before the start stops it.
func (t *task) hook(vm *VM, phase string) error {
	volid := vm.Conf["hookscript"]
	if volid == "" {
		return nil
	}
	if err := t.runHook(vm, volid, phase); err != nil {
		return die("hookscript error for %d on %s: %s\n", vm.ID, phase, err)
	}
	return nil
}

// hookWarn runs the hook script where its errors change nothing.
func (t *task) hookWarn(vm *VM, phase string) {
	if err := t.hook(vm, phase); err != nil {
		t.logf("%s", strings.TrimRight(err.Error(), "\n"))
	}
}

func (t *task) runHook(vm *VM, volid, phase string) error {
	vol, _ := t.volume(vm.Node, volid)
	if vol == nil {
		return fmt.Errorf("script '%s' does not exist", volid)
	}
	if t.machines != nil {
		return t.runRealHook(vm, volid, phase)
	}
	script, err := t.blobText(vol)
	if err != nil {
		return fmt.Errorf("read script '%s': %w", volid, err)
	}
	lines, code := hookOutput(script, vm.ID, phase)
	for _, line := range lines {
		t.logf("%s", line)
	}
	if code != 0 {
		return fmt.Errorf("command '%s %d %s' failed: exit code %d", t.volumePath(volid), vm.ID, phase, code)
	}
	return nil
}
