package licence

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// Every module that is linked into a program, for any system that it is built for, has a
// permissive licence. Of the provider, those of HashiCorp have the Mozilla Public License, and are linked as they are; so
// is the one for Terraform's language in the command line.
func TestEverythingLinkedInMayBeGivenAway(t *testing.T) {
	for program, mozilla := range map[string]string{"proxplane": "github.com/hashicorp/hcl/v2", "terraform-provider-proxplane": "github.com/hashicorp/"} {
		t.Run(program, func(t *testing.T) {
			modules := linked(t, "../../cmd/"+program)
			if len(modules) < 20 {
				t.Fatalf("only %d modules", len(modules))
			}
			count := map[string]int{}
			for _, m := range modules {
				for file, text := range m.licences(t) {
					kind := Of(text)
					if kind == "" && mozilla != "" && strings.HasPrefix(m.name, mozilla) && Mozilla(text) && !m.replaced {
						kind = "MPL-2.0"
					}
					if kind == "" {
						t.Errorf("the licence of %s in %s isn't known to be permissive: add it to the package after reading it, or take another module", m.name, file)
					}
					count[kind]++
				}
			}
			t.Logf("%d modules: %v", len(modules), count)
			if (count["MPL-2.0"] > 0) != (mozilla != "") {
				t.Errorf("%d modules have the Mozilla Public License", count["MPL-2.0"])
			}
		})
	}
}

type linkedModule struct {
	name, folder string
	replaced     bool
}

// linked are the modules of a program.
func linked(t *testing.T, program string) map[string]linkedModule {
	modules := map[string]linkedModule{}
	for _, system := range []string{"linux", "darwin"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{if .Replace}} replaced{{end}}{{end}}{{end}}", program)
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		list.Stderr = t.Output()
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if words := strings.Fields(line); len(words) > 1 {
				modules[words[0]] = linkedModule{words[0], words[1], len(words) > 2}
			}
		}
	}
	return modules
}

// licences are the texts of the module's licence files, by their names.
func (m linkedModule) licences(t *testing.T) map[string]string {
	entries, err := os.ReadDir(m.folder)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, e := range entries {
		if e.IsDir() || !files.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts[e.Name()] = string(text)
	}
	if len(texts) == 0 {
		t.Errorf("%s has no licence file", m.name)
	}
	return texts
}
