package pvesim

import (
	"fmt"
	"strconv"
	"strings"
)

// hookOutput is what a simulated hook script prints and how it ends.
//
// Scripts aren't run. Those whose text is plain shell of the kind
//
//	echo "hook $*"; exit 0
//
// do what they say: echo with $*, $@, $1 (the VMID) and $2 (the phase), and
// exit. All others print nothing and succeed.
func hookOutput(script string, vmid int, phase string) (lines []string, code int) {
	id := strconv.Itoa(vmid)
	vars := strings.NewReplacer("$*", id+" "+phase, "$@", id+" "+phase, "$1", id, "$2", phase,
		"${1}", id, "${2}", phase)
	for _, line := range strings.FieldsFunc(script, func(r rune) bool { return r == '\n' || r == ';' }) {
		words := strings.TrimSpace(line)
		switch {
		case words == "echo" || strings.HasPrefix(words, "echo "):
			lines = append(lines, echo(words, vars))
		case words == "exit" || strings.HasPrefix(words, "exit "):
			code, _ = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(words, "exit")))
			return lines, code
		}
	}
	return lines, 0
}

// echo prints an echo command's words; single quotes keep variables.
func echo(command string, vars *strings.Replacer) string {
	rest := strings.TrimSpace(strings.TrimPrefix(command, "echo"))
	if len(rest) > 1 && rest[0] == '\'' && rest[len(rest)-1] == '\'' {
		return rest[1 : len(rest)-1]
	}
	return vars.Replace(strings.ReplaceAll(rest, `"`, ""))
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
	script, err := t.blobText(vol)
	if err != nil {
		return fmt.Errorf("read script '%s': %w", volid, err)
	}
	lines, code := hookOutput(script, vm.ID, phase)
	for _, line := range lines {
		t.logf("%s", line)
	}
	if code != 0 {
		return fmt.Errorf("command '%s %d %s' failed: exit code %d", t.volumePath(vm.Node, volid), vm.ID, phase, code)
	}
	return nil
}
