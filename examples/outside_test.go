package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/test/kit/disc"
	"github.com/proxplane/proxplane/test/kit/need"
)

// What other people's programs make of the first-boot data of all examples.

// eachSeed goes through the first-boot data of all machines.
func eachSeed(t *testing.T, do func(machine string, files map[string][]byte)) {
	t.Helper()
	for folder := range machines {
		for _, vm := range wanted(t, folder).Desired.VMs {
			if vm.Seed == nil {
				continue
			}
			files, err := act.FilesOf(vm.Seed.Files, vm.Seed.Recipe, 100)
			if err != nil {
				t.Fatalf("%s: %v", folder, err)
			}
			do(folder+"/"+vm.Name, files)
		}
	}
}

// eachUserData goes through the user-data of all machines, in files.
func eachUserData(t *testing.T, format firstboot.Format, do func(t *testing.T, path, text string)) {
	t.Helper()
	n := 0
	eachSeed(t, func(machine string, files map[string][]byte) {
		text := string(files[firstboot.UserDataFile])
		if firstboot.FormatOf(text) != format {
			return
		}
		n++
		path := filepath.Join(t.TempDir(), "user-data")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(machine, func(t *testing.T) { do(t, path, text) })
	})
	if n == 0 {
		t.Errorf("no example has user-data of the format %s", format)
	}
}

func TestOthersReadEveryImage(t *testing.T) {
	n := 0
	eachSeed(t, func(machine string, files map[string][]byte) {
		n++
		t.Run(machine, func(t *testing.T) {
			image, err := firstboot.ISO(files)
			if err != nil {
				t.Fatal(err)
			}
			disc.Holds(t, image, files)
		})
	})
	if n == 0 {
		t.Error("no example has first-boot data")
	}
}

func TestCloudInitAcceptsEveryCloudConfig(t *testing.T) {
	program := need.Program(t, "cloud-init")
	eachUserData(t, firstboot.CloudConfig, func(t *testing.T, path, text string) {
		said, err := exec.Command(program, "schema", "--config-file", path).CombinedOutput()
		if err != nil || !strings.Contains(string(said), "Valid cloud-config") {
			t.Errorf("%v: %s\n%s", err, said, text)
		}
	})
}

func TestShellcheckAcceptsEveryScript(t *testing.T) {
	program := need.Program(t, "shellcheck")
	eachUserData(t, firstboot.Script, func(t *testing.T, path, text string) {
		if said, err := exec.Command(program, path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, said, text)
		}
	})
}
