package licence

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLicencesAreToldApart(t *testing.T) {
	ours, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software [...] The above copyright notice and this permission\nnotice shall be included"
	const bsd = "Redistribution and use in source and binary forms, with or without modification [...] must reproduce the above copyright\nnotice"
	for text, want := range map[string]string{
		string(ours): "Apache-2.0",
		mit:          "MIT",
		bsd:          "BSD-2-Clause",
		bsd + " [...] nor the names of its contributors may be used to endorse or promote products derived from": "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE Version 3":                          "",
		mit + " Parts are under the GNU Lesser\nGeneral Public License": "",
		"Mozilla Public License Version 2.0":                            "",
		"All rights reserved.":                                          "",
		"":                                                              "",
	} {
		if got := Of(text); got != want {
			t.Errorf("%.60q is %q, want %q", text, got, want)
		}
	}
}

var files = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying`)

// Every module that is linked into the program, for any system that it is built for, has a
// permissive licence.
func TestEverythingLinkedInIsPermissive(t *testing.T) {
	modules := map[string]string{} // folders by name
	for _, system := range []string{"linux", "darwin"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "../../cmd/proxplane")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		list.Stderr = t.Output()
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if name, folder, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				modules[name] = folder
			}
		}
	}
	if len(modules) < 20 {
		t.Fatalf("only %d modules", len(modules))
	}
	count := map[string]int{}
	for name, folder := range modules {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.IsDir() || !files.MatchString(e.Name()) })
		if len(entries) == 0 {
			t.Errorf("%s has no licence file", name)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			kind := Of(string(text))
			if kind == "" {
				t.Errorf("the licence of %s in %s isn't known to be permissive: add it to the package after reading it, or take another module", name, e.Name())
			}
			count[kind]++
		}
	}
	t.Logf("%d modules: %v", len(modules), count)
}
