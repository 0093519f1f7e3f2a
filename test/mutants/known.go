package main

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A known mutant was looked at by a person: it makes no difference that a test could notice. The list has a line for each,
//
//	plan/pin.go: p.cloned[image] = origins{before, unread}: left out # it saves work
//
// and is wrong if there is no such mutant, or if a test notices it: then the line has to go.
type known struct {
	mutant, why string
	line        int
}

// readKnown reads the list; no file: none.
func readKnown(file string) ([]known, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the mutants that are known: %w", err)
	}
	defer f.Close()
	var list []known
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		mutant, why, ok := strings.Cut(line, " # ")
		if !ok {
			return nil, fmt.Errorf("%s, line %d: nobody says why it makes no difference", file, n)
		}
		list = append(list, known{strings.TrimSpace(mutant), strings.TrimSpace(why), n})
	}
	return list, scan.Err()
}

// name is how the list names a mutant: by what it changes, whatever the line is.
func (m mutant) name() string {
	file := filepath.ToSlash(m.where.Filename)
	for strings.HasPrefix(file, "../") {
		file = strings.TrimPrefix(file, "../")
	}
	return file + ": " + m.what
}

// missing are the lines of a list that no mutant of the packages is meant by.
func missing(list []known, mutants []mutant) (lines []string) {
	there, dirs := map[string]bool{}, map[string]bool{}
	for _, m := range mutants {
		there[m.name()] = true
		dirs[path.Dir(m.name()[:strings.Index(m.name(), ": ")])] = true
	}
	for _, k := range list {
		file, _, _ := strings.Cut(k.mutant, ": ")
		if dirs[path.Dir(file)] && !there[k.mutant] {
			lines = append(lines, fmt.Sprintf("line %d: there is no mutant %s", k.line, k.mutant))
		}
	}
	return lines
}

// noticed are the lines of a list whose mutants all are noticed by tests by now.
func noticed(list []known, mutants []mutant, found []verdict) (lines []string) {
	alive, tried := map[string]bool{}, map[string]bool{}
	for i, m := range mutants {
		tried[m.name()] = true
		alive[m.name()] = alive[m.name()] || found[i] <= survived
	}
	for _, k := range list {
		if tried[k.mutant] && !alive[k.mutant] {
			lines = append(lines, fmt.Sprintf("line %d: tests notice %s", k.line, k.mutant))
		}
	}
	return lines
}
