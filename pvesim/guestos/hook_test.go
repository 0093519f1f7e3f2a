package guestos

import (
	"strings"
	"testing"
)

func TestSimpleHookScriptsDoWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		script, out string
		code        int
	}{
		{"#!/bin/sh\necho \"hook $*\"; exit 0\n", "hook 100 pre-start", 0},
		{"#!/bin/bash\nset -e\necho \"a; b\" '$1' ${2}\nfalse || echo saved\nexit 7\necho never\n", "a; b $1 pre-start|saved", 7},
		{"X=5\necho $X && false\n", "5", 1},
		{"#!/bin/sh\ncase \"$2\" in\n  pre-start) echo no;;\nesac\n", "", 0},
		{"#!/usr/bin/perl\nprint \"hi\\n\";\n", "", 0},
		{"", "", 0},
	} {
		lines, code := HookOutput(c.script, 100, "pre-start")
		if got := strings.Join(lines, "|"); got != c.out || code != c.code {
			t.Errorf("%q prints %q and ends with %d, want %q and %d", c.script, got, code, c.out, c.code)
		}
	}
}
