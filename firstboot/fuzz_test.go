package firstboot

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// bomb is a YAML text that grows tenfold with each of its lines.
func bomb(lines int) string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < lines; i++ {
		text += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return text
}

// oddButane are configs that nobody should be able to do harm with.
func oddButane() []string {
	const head = "variant: flatcar\nversion: 1.1.0\n"
	list := []string{
		"", head, head + "storage: {files: [{path: /etc/x, contents: {inline: hello}}]}\n", head + bomb(12), bomb(12) + head, head + "storage: &a {files: *a}\n", head + "storage: {files: [<<: [*b]]}\n",
		strings.Repeat("[", 5000), head + "storage: {files: " + strings.Repeat("[", 5000) + "\n", "variant: x\nversion: 99999999999999999999.1.0\n", "variant: [flatcar]\nversion: {}\n", "variant: fcos\nversion: 1.7.0-experimental\n",
		head + "storage: {files: [{path: /etc/x, mode: -1}]}\n", head + "storage: {files: [{path: /etc/x, mode: 99999999999999999999}]}\n", head + "passwd: {users: [{name: \"\\u202e\", uid: 1e99}]}\n",
		head + "storage: {disks: [{device: /dev/sda, partitions: [{size_mib: -5}]}]}\n", "\xff\xfe", "\x00", "a: !!binary x", head + "systemd: {units: [{name: ../../x, contents: y}]}\n",
	}
	for _, name := range []string{"inside", "../secret", "./../secret", "/etc/passwd", "folder/../../secret", "inside/../../secret", "..", "."} {
		list = append(list, head+"storage: {files: [{path: /etc/x, contents: {local: "+name+"}}]}\n", head+"storage: {trees: [{local: "+name+"}]}\n", head+"systemd: {units: [{name: a.service, contents_local: "+name+"}]}\n")
	}
	return list
}

// FuzzButaneReadsItsOwnFolderOnly turns any text into Ignition. It ends, what comes
// out is a config that Ignition takes, and nothing outside of the folder is in it.
func FuzzButaneReadsItsOwnFolderOnly(f *testing.F) {
	for _, text := range oddButane() {
		f.Add(text)
	}
	top := f.TempDir()
	folder := filepath.Join(top, "folder")
	const secret = "zq9outside7"
	for name, text := range map[string]string{"secret": secret, "folder/inside": "inside"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, secret) {
			t.Skip()
		}
		out, err := Butane(text, folder)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells what is outside: %v", err)
			}
			return
		}
		if _, err := CheckIgnition(out); err != nil {
			t.Errorf("what came out is refused: %v", err)
		}
		if strings.Contains(out, secret) {
			t.Errorf("a file from outside is in it: %s", out)
		}
		again, err := MergeIgnition(out, out)
		if err != nil {
			t.Errorf("it can't be merged with itself: %v", err)
		} else if _, err := CheckIgnition(again); err != nil {
			t.Errorf("merged with itself, it is refused: %v", err)
		}
	})
}

// FuzzAnyUserDataMakesADriveOrIsRefused makes drives of any text.
func FuzzAnyUserDataMakesADriveOrIsRefused(f *testing.F) {
	for _, text := range []string{
		"#cloud-config\npackages: [nginx]\n", "#cloud-config\n" + bomb(12), "#cloud-config\n- a\n", "#!/bin/sh\necho ${vm_name} $${vm_name} ${vm_nothing}\n", mimeHead + "--==b==\n\nx\n--==b==--\n",
		mimeHead + "--==b==\nContent-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\n%%%\n--==b==--\n", `{"ignition": {"version": "3.4.0"}}`, `{"ignition": {"version": "3.99.0"}}`, `{"ignition":` + strings.Repeat("[", 3000),
		"version: v1alpha1\nmachine: {type: worker}\n", "version: v1alpha1\nmachine: " + strings.Repeat("{a: ", 3000), "\x1f\x8b", "\x00\xff", "## template: jinja\n", "Content-Type: multipart/mixed\n\n", "${", "${vm_id}",
	} {
		f.Add(text, "web-1")
	}
	f.Add("#cloud-config\n", "a\nlocal-hostname: b")
	f.Add("#cloud-config\n", "\u202e: [")
	f.Fuzz(func(t *testing.T, text, name string) {
		recipe := Recipe{Hostname: name, InstanceID: "i-1", UserData: text, Variables: map[string]string{VarName: name, VarCount: "1", VarIndex: "0"}, Rerun: true}
		files, err := recipe.Make(100)
		if err != nil {
			return
		}
		image, err := ISO(files)
		if err != nil {
			t.Fatalf("no image can be made of it: %v", err)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !strings.Contains(string(image), string(files[name])) {
				t.Errorf("%s isn't in the image", name)
			}
		}
		var meta struct {
			Hostname string `yaml:"local-hostname"`
		}
		if err := yaml.Unmarshal(files["meta-data"], &meta); err != nil || meta.Hostname != name && utf8.ValidString(name) {
			t.Errorf("the name %q became %s (%v)", name, files["meta-data"], err)
		}
	})
}

// FuzzBounds: no text makes much more of itself than it has.
func FuzzBounds(f *testing.F) {
	f.Add("#cloud-config\na: &a [x, x]\nb: [*a, *a]\n${v}${v}", "value")
	f.Add("a: &a [*a]", "x")
	f.Add("k: [\n- ${v}\n", "[[[[")
	f.Fuzz(func(t *testing.T, text, value string) {
		got, err := Expand(text, map[string]string{"v": value})
		if err == nil && len(got) > len(text)+MaxExpanded {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		if len(got) < 64<<10 {
			var v any
			_ = DecodeYAML(got, &v) // neither panics nor goes on for ever
		}
	})
}
