package firstboot

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

func TestNoCloudFilesSayWhatWasAsked(t *testing.T) {
	files, err := NoCloud(Input{
		UserData: "#cloud-config\npackages: [nginx]\n", Hostname: "web-1",
		NICs: []NIC{
			{MAC: "02:00:00:AA:BB:CC", Addresses: []string{"192.168.1.100/24", "fd00::5/64"}, Gateway: "192.168.1.1", DNS: []string{"8.8.8.8"}},
			{MAC: "02:00:00:AA:BB:CD"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `version: 2
ethernets:
    eth0:
        match:
            macaddress: 02:00:00:aa:bb:cc
        set-name: eth0
        addresses:
            - 192.168.1.100/24
            - fd00::5/64
        routes:
            - to: 0.0.0.0/0
              via: 192.168.1.1
        nameservers:
            addresses:
                - 8.8.8.8
    eth1:
        match:
            macaddress: 02:00:00:aa:bb:cd
        set-name: eth1
        dhcp4: true
`
	if got := string(files["network-config"]); got != want {
		t.Errorf("network-config:\n%s\nwant:\n%s", got, want)
	}
	if got := string(files["meta-data"]); !strings.Contains(got, "instance-id: web-1") || !strings.Contains(got, "local-hostname: web-1") {
		t.Errorf("meta-data:\n%s", got)
	}
}

func TestImagesHoldTheFilesUnderTheirNames(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	files := map[string][]byte{"user-data": []byte("#cloud-config\n"), "meta-data": []byte("instance-id: x\n"), "network-config": bytes.Repeat([]byte("n"), 5000)}
	image, err := ISO(files)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "seed.iso")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	disk, err := iso9660.Read(file.New(f, true), int64(len(image)), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if label := strings.TrimRight(disk.Label(), " \x00"); label != Label {
		t.Errorf("label %q", label)
	}
	for name, want := range files {
		got, err := disk.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "proxplane-seed-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := ISO(map[string][]byte{"../x": nil}); err == nil {
		t.Error("a file name with a path is taken")
	}
}

// Whoever is killed while an image is made leaves its temporary files behind.
func TestNothingOfTheFilesIsWrittenToDisk(t *testing.T) {
	const secret = "correct-horse"
	blank, err := blankISO(map[string][]byte{"user-data": []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(blank, []byte(secret)) {
		t.Error("what the library gets holds the secret")
	}
	image, err := ISO(map[string][]byte{"user-data": []byte(secret), "empty": nil})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(image, []byte(secret)) != 1 {
		t.Error("the image doesn't hold the secret once")
	}
}

func TestADirectoryThatCantBeWrittenIsNamed(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, err := ISO(map[string][]byte{"user-data": nil}); err == nil || !strings.Contains(err.Error(), "make first-boot image: ") || !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

func TestDigestsChangeWithTheFiles(t *testing.T) {
	a := Digest(map[string][]byte{"a": []byte("1"), "b": []byte("2")})
	for _, other := range []map[string][]byte{{"a": []byte("1")}, {"a": []byte("12"), "b": nil}, {"a": []byte("1"), "b": []byte("3")}} {
		if Digest(other) == a {
			t.Errorf("%v has the same digest", other)
		}
	}
}
