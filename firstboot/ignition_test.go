package firstboot

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestButaneBecomesIgnition(t *testing.T) {
	for _, c := range []struct{ variant, version, want string }{
		{"flatcar", "1.0.0", "3.3.0"}, {"flatcar", "1.1.0", "3.4.0"}, {"fcos", "1.5.0", "3.4.0"}, {"fcos", "1.6.0", "3.5.0"}, {"r4e", "1.1.0", "3.4.0"}, {"fiot", "1.0.0", "3.4.0"},
	} {
		out, err := Butane("variant: "+c.variant+"\nversion: "+c.version+"\nstorage:\n  files:\n    - path: /etc/x\n      contents:\n        inline: hello\n", "")
		if err != nil {
			t.Errorf("%s %s: %v", c.variant, c.version, err)
			continue
		}
		if version, err := CheckIgnition(out); err != nil || version != c.want {
			t.Errorf("%s %s: Ignition %s, %v; want %s", c.variant, c.version, version, err, c.want)
		}
		if !strings.Contains(out, "data:,hello") {
			t.Errorf("%s %s: %s", c.variant, c.version, out)
		}
	}
}

func TestBadButaneIsToldWithItsPlace(t *testing.T) {
	const head = "variant: flatcar\nversion: 1.1.0\n"
	for text, want := range map[string]string{
		"version: 1.1.0\n":                                                                        "line 1, column 1: variant is missing",
		"variant: flatcar\nversion: one\n":                                                        "line 2, column 10: version is missing",
		"variant: flatcar\nversion: 9.0.0\n":                                                      "line 2, column 10: there is no version 9.0.0 of variant flatcar",
		"variant: flatcar\nversion: 1.2.0-experimental\n":                                         "isn't stable",
		head + "storage:\n  fils: []\n":                                                           "line 4, column 3: storage.fils: unused key fils",
		head + "storage:\n  files:\n    - path: etc/x\n":                                          "line 5, column 13: storage.files.0.path: path not absolute",
		head + "storage:\n\tfiles: []\n":                                                          "line 4, column 2: found character that cannot start any token",
		head + "storage:\n  files: yes\n":                                                         "line 4, column 3: cannot unmarshal",
		head + "storage:\n  files:\n    - path: /x\n      contents:\n        local: x\n":          "must be specified with",
		head + "systemd:\n  units:\n    - name: x.service\n      contents: |\n        [Service\n": "systemd.units.0.contents",
	} {
		if _, err := Butane(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant %q", text, err, want)
		}
	}
}

func TestBadIgnitionIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                 `it has no "ignition"`,
		`{"ignition": {"version": "2.3.0"}}`: "version 2.3.0 isn't known; known are 3.0.0 to 3.5.0",
		`{"ignition": {"version": "3.9.0"}}`: "version 3.9.0 isn't known",
		`{"ignition": {"version": "3.6.0-experimental"}}`:                                           "isn't stable",
		"{\"ignition\": {\"version\": \"3.4.0\"},\n \"storage\": {\"files\": [{\"path\": \"x\"}]}}": "line 2, column",
		`{"ignition": `: "line 1, column 14: this isn't JSON",
	} {
		if _, err := CheckIgnition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, c := range []struct {
		version, than string
		want          bool
	}{{"3.5.0", "3.4.0", true}, {"3.4.0", "3.4.0", false}, {"3.3.0", "3.4", false}, {"3.10.0", "3.4.0", true}, {"3.5.0", "", false}} {
		if NewerIgnition(c.version, c.than) != c.want {
			t.Errorf("%s newer than %s: %v", c.version, c.than, !c.want)
		}
	}
}

func TestConfigsAreMergedInTheNewerVersionOfBoth(t *testing.T) {
	a := `{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:,1"}},{"path":"/b"}]}}`
	b := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:,2"}},{"path":"/c"}]}}`
	merged, err := MergeIgnition(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Ignition struct{ Version string }
		Storage  struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if err := json.Unmarshal([]byte(merged), &got); err != nil {
		t.Fatal(err)
	}
	if got.Ignition.Version != "3.4.0" || len(got.Storage.Files) != 3 || got.Storage.Files[0].Contents.Source != "data:,2" {
		t.Errorf("merged: %s", merged)
	}
	// Each is good by itself.
	link := `{"ignition":{"version":"3.4.0"},"storage":{"links":[{"path":"/a","target":"/x"}]}}`
	below := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a/b"}]}}`
	if _, err := MergeIgnition(link, below); err == nil {
		t.Error("a link is merged with a file below it")
	}
}

func recipe() Recipe {
	return Recipe{
		Hostname: "web-1", InstanceID: "id",
		Butane: []string{
			"variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/vm\n      contents:\n        inline: ${vm_id} ${vm_name}\n    - path: /etc/motd\n      contents:\n        local: d/motd\n",
			"variant: flatcar\nversion: 1.0.0\npasswd:\n  users:\n    - name: ${user}\n",
		},
		Files:     map[string][]byte{"d/motd": []byte("hi")},
		Variables: map[string]string{"vm_name": "web-1", "user": "core"},
	}
}

func TestRecipesMakeTheFilesOfADrive(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r := recipe()
	if !r.PerGuest() {
		t.Error("it isn't known that the VMID matters")
	}
	files, err := r.Make(123)
	if err != nil {
		t.Fatal(err)
	}
	got := string(files[UserDataFile])
	for _, want := range []string{`"version":"3.4.0"`, "data:,123%20web-1", "data:,hi", `"name":"core"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, version, err := r.Config(123); err != nil || version != "3.4.0" {
		t.Errorf("version %s, %v", version, err)
	}
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "d", "motd"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Folder = folder
	if files, err = r.Make(123); err != nil || !strings.Contains(string(files[UserDataFile]), "data:,other") {
		t.Errorf("from a folder: %s, %v", files[UserDataFile], err)
	}
}

func TestRecipesTellWhichTextIsWrong(t *testing.T) {
	r := recipe()
	r.Butane[1] += "nonsense: 1\n"
	_, err := r.Make(123)
	var p *PartError
	if !errors.As(err, &p) || p.Part != 1 {
		t.Fatalf("%v", err)
	}
	if at := TextErrorsOf(err); len(at) != 1 || at[0].Line != 6 {
		t.Errorf("%v", at)
	}
	r = recipe()
	r.Files = map[string][]byte{"../x": nil}
	if _, err := r.Make(1); err == nil || !strings.Contains(err.Error(), "isn't the name of a file") {
		t.Error(err)
	}
}

func TestInstancesChangeWithTheDataOnlyWhenAskedFor(t *testing.T) {
	id := func(r Recipe) string {
		files, err := r.Make(1)
		if err != nil {
			t.Fatal(err)
		}
		return string(files[MetaDataFile])
	}
	one := Recipe{Hostname: "a", InstanceID: "i", UserData: "#!/bin/sh\necho 1\n"}
	two := one
	two.UserData = "#!/bin/sh\necho 2\n"
	if id(one) != id(two) {
		t.Errorf("%s became %s", id(one), id(two))
	}
	one.Rerun, two.Rerun = true, true
	if id(one) == id(two) {
		t.Errorf("%s stays", id(one))
	}
	one.MetaData = "instance-id: mine\nx: {\"y\": 1}\n"
	if got := id(one); !strings.Contains(got, "instance-id: mine\n") || !strings.Contains(got, `"y": 1`) {
		t.Error(got)
	}
	if _, err := NoCloud(Input{UserData: strings.Repeat("x", MaxDrive+1)}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}
