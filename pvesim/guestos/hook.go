package guestos

import (
	"strconv"
	"strings"
)

// HookOutput returns what a simulated hook script prints and how it ends.
//
// Scripts aren't run, unless guests are. Those that are plain shell of the kind
//
//	echo "hook $*"; exit 0
//
// do what they say: echo with $*, $1 (the VMID), $2 (the phase) and other
// variables, true, false and exit, joined by ; && and ||. Other commands
// succeed and print nothing, and so do scripts with loops, functions and the
// like as a whole.
func HookOutput(script string, vmid int, phase string) (lines []string, code int) {
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
