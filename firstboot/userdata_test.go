package firstboot

import (
	"strings"
	"testing"
)

const mimeHead = "Content-Type: multipart/mixed; boundary=\"==b==\"\nMIME-Version: 1.0\n\n"

func TestFormatsAreToldApart(t *testing.T) {
	for text, want := range map[string]Format{
		"#cloud-config\npackages: [nginx]\n":                                     CloudConfig,
		"#!/bin/sh\ntrue\n":                                                      Script,
		mimeHead + "--==b==\n\nx\n--==b==--\n":                                   Multipart,
		"MIME-Version: 1.0\n":                                                    Multipart,
		"mime-version: 1.0\n":                                                    Multipart,
		`{"ignition": {"version": "3.4.0"}}`:                                     IgnitionDoc,
		"version: v1alpha1\nmachine:\n  type: worker\n":                          Talos,
		"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n":              Talos,
		"## template: jinja\n#cloud-config\nhostname: {{ v1.local_hostname }}\n": OtherFormat,
		"#include\nhttps://example.com/x\n":                                      OtherFormat,
		"packages: [nginx]\n":                                                    NoFormat,
		"":                                                                       NoFormat,
		"v1alpha1 [":                                                             NoFormat,
	} {
		if got := FormatOf(text); got != want {
			t.Errorf("%.30q is %s, want %s", text, got, want)
		}
	}
}

func TestBadUserDataIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"#cloud-config\n- a\n":             "isn't a mapping",
		"#cloud-config\na: b\n  c: [d\n":   "line 3, column 3: ",
		"Content-Type: multipart/mixed\n":  "no boundary",
		"Content-Type: ;\n\n":              "can't be read",
		"MIME-Version: 1.0\nno header\n\n": "header can't be read",
		mimeHead:                           "no parts",
		mimeHead + "--==b==--\n":           "no parts",
		mimeHead + "--==b==\nContent-Type: text/cloud-config\n\na: [b\n--==b==--\n": "part 1: ",
		mimeHead + "--==b==\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n":       "part 1: it has no end",
		"version: v1alpha1\nmachine: {}\nnetwork: {}\n":                             "line 3, column 1: Talos refuses network:",
		"version: v1alpha1\nmachine: {}\n---\n  a: [\n":                             "line",
		`{"ignition": {"version": "3.4.0"}, "storag": {}}`:                          "storag: unused key storag",
	} {
		if err := CheckUserData(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestGoodUserDataIsTaken(t *testing.T) {
	for _, text := range []string{
		"", "#!/bin/sh\n[ -e /x ]\n", "#cloud-config\n", "#cloud-config\nruncmd: [ls]\n", "MIME-Version: 1.0\nContent-Type: text/plain\n\nx\n",
		mimeHead + "--==b==\nContent-Type: text/cloud-config; charset=\"us-ascii\"\nContent-Disposition: attachment; filename=\"a.yaml\"\n\n#cloud-config\na: b\n" +
			"--==b==\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho\n--==b==--\n",
		mimeHead + "--==b==\nContent-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\nI2Nsb3VkLWNvbmZpZwo=\n--==b==--\n",
		"version: v1alpha1\nmachine:\n  network:\n    hostname: a\n---\napiVersion: v1alpha1\nkind: X\n",
	} {
		if err := CheckUserData(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestVariablesAreReplaced(t *testing.T) {
	vars := map[string]string{"vm_name": "web-1", "vm_index": "0", "domain": "example.com"}
	for text, want := range map[string]string{
		"${vm_name}.${domain}":        "web-1.example.com",
		"${ vm_name }":                "web-1",
		"$${vm_name} and $${HOME}":    "${vm_name} and ${HOME}",
		"cd ${HOME}; echo ${x:-1} $$": "cd ${HOME}; echo ${x:-1} $$",
		"${}":                         "${}",
		"${{vm_name}}":                "${{vm_name}}",
	} {
		if got, err := Expand(text, vars); err != nil || got != want {
			t.Errorf("%q became %q, %v; want %q", text, got, err, want)
		}
	}
	_, err := Expand("a: 1\nb: ${vm_nome}\n", vars)
	if err == nil || err.Error() != "line 2, column 4: there is no variable vm_nome; there are domain, vm_index, vm_name" {
		t.Error(err)
	}
	for name, good := range map[string]bool{"domain": true, "_x1": true, "vm_x": false, "a-b": false, "": false, "1a": false} {
		if err := CheckVariable(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
