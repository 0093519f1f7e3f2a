package nodeos

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pkg/sftp"
	xssh "golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/need"
)

func TestPeopleLogInAsToARealNode(t *testing.T) {
	l := newLab(t)
	signer, err := xssh.ParsePrivateKey(l.key)
	if err != nil {
		t.Fatal(err)
	}
	_, stranger := sshtest.Key(t)
	for _, c := range []struct {
		reason     string
		node, user string
		auth       xssh.AuthMethod
		ok         bool
	}{
		{"the password of a user of the realm pam", "pve1", "root", xssh.Password("secret"), true},
		{"the same on another node", "pve2", "terraform", xssh.Password("tf"), true},
		{"a key of the world", "pve1", "root", xssh.PublicKeys(signer), true},
		{"another password", "pve1", "root", xssh.Password("wrong"), false},
		{"no password", "pve1", "root", xssh.Password(""), false},
		{"a key that nobody knows", "pve1", "root", xssh.PublicKeys(stranger), false},
		{"a key of somebody else", "pve1", "terraform", xssh.PublicKeys(signer), false},
		{"users of other realms have no account", "pve1", "api", xssh.Password("secret"), false},
		{"a node that is off", "pve3", "root", xssh.Password("secret"), false},
	} {
		conn, err := l.dial(c.node, c.user, c.auth)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.reason, err)
		}
		if conn != nil {
			conn.Close()
		}
	}
	// Who adds a key to authorized_keys logs in with it.
	line := string(xssh.MarshalAuthorizedKey(stranger.PublicKey()))
	if out, status := l.run(l.login("pve1", "terraform", "tf"), "mkdir -p ~/.ssh && cat >> ~/.ssh/authorized_keys", line); status != 0 {
		t.Fatal(out)
	}
	conn, err := l.dial("pve1", "terraform", xssh.PublicKeys(stranger))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// What bpg/proxmox sends, as its sources have it: with sudo for others than root.
const (
	trySudo075 = `try_sudo(){ if [ $(sudo -n pvesm apiinfo 2>&1 | grep "APIVER" | wc -l) -gt 0 ]; then sudo $1; else $1; fi }`
	trySudo    = `_try_sudo_check(){ if [ -z "${_try_sudo_cached:-}" ]; then _try_sudo_use_sudo="${TRY_SUDO_USE_SUDO:-0}"; _try_sudo_cached=1; fi; }; ` +
		`try_sudo(){ _try_sudo_check; if [ "$_try_sudo_use_sudo" = "1" ]; then sudo "$@"; else "$@"; fi; }`
	sudoProbe = `if [ "$(id -u)" = "0" ]; then echo "0"; elif [ $(sudo -n /usr/sbin/pvesm apiinfo 2>&1 | grep "APIVER" | wc -l) -gt 0 ] ` +
		`|| sudo -n /usr/sbin/qm --help >/dev/null 2>&1; then echo "1"; else echo "0"; fi`
)

// inBash is how bpg/proxmox wraps its scripts.
func inBash(script string) string {
	return "/bin/bash -c '" + strings.ReplaceAll(script, `'`, `'"'"'`) + "'"
}

func TestSnippetsArriveAsFromTerraform(t *testing.T) {
	l := newLab(t)
	root, other := l.login("pve1", "root", "secret"), l.login("pve1", "terraform", "tf")
	l.wants(root, inBash(sudoProbe), "0\n", 0)
	l.wants(other, inBash(sudoProbe), "1\n", 0)
	const text = "#cloud-config\nhostname: web\n"
	for _, c := range []struct {
		client  *xssh.Client
		command string
	}{
		{root, trySudo075 + `; try_sudo "/usr/bin/tee /var/lib/vz/snippets/a.yaml"`},
		{other, trySudo075 + `; try_sudo "/usr/bin/tee /var/lib/vz/snippets/b.yaml"`},
		{root, inBash("export TRY_SUDO_USE_SUDO=0; " + trySudo + "; try_sudo /usr/bin/tee /var/lib/vz/snippets/c.yaml")},
		{other, inBash("export TRY_SUDO_USE_SUDO=1; " + trySudo + "; try_sudo /usr/bin/tee /var/lib/vz/snippets/d.yaml")},
	} {
		if out, status := l.run(c.client, c.command, text); out != text || status != 0 {
			t.Errorf("%s: %q, exit status %d", c.command, out, status)
		}
	}
	if got := l.volids("pve1", "local"); got != "local:snippets/a.yaml local:snippets/b.yaml local:snippets/c.yaml local:snippets/d.yaml" {
		t.Errorf("the storage has %q", got)
	}
	if got, err := l.sim.ReadVolume("pve1", "local:snippets/b.yaml"); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	if out, status := l.run(other, "/usr/bin/tee /var/lib/vz/snippets/no.yaml", text); status != 1 || !strings.Contains(out, "tee: /var/lib/vz/snippets/no.yaml: Permission denied") {
		t.Errorf("without sudo: %q, exit status %d", out, status)
	}
	// What is removed over the API is gone from the node.
	if _, err := l.sim.Host("pve1").Call("DELETE", "/nodes/pve1/storage/local/content/local:snippets/a.yaml", map[string]any{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	l.wants(root, "ls /var/lib/vz/snippets", "b.yaml\nc.yaml\nd.yaml\n", 0)
	// A storage's files are on its node; those of a shared one on all.
	second := l.login("pve2", "root", "secret")
	l.wants(second, "ls /var/lib/vz/snippets", "", 0)
	l.wants(root, "cp /var/lib/vz/snippets/b.yaml /mnt/pve/nfs/snippets/", "", 0)
	l.wants(second, "cat /mnt/pve/nfs/snippets/b.yaml", text, 0)
}

func TestFilesArriveBySFTP(t *testing.T) {
	l := newLab(t)
	c := l.login("pve1", "root", "secret")
	files, err := sftp.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	put := func(name string, data []byte) error {
		f, err := files.Create(name)
		if err != nil {
			return err
		}
		_, err = f.ReadFrom(bytes.NewReader(data))
		return errors.Join(err, f.Close())
	}
	for _, name := range []string{"snippets/s.yaml", "template/iso/i.iso", "template/cache/t.tar.zst", "import/disk.qcow2"} {
		if err := put("/var/lib/vz/"+name, pvesim.BootableImage()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := "local:import/disk.qcow2 local:iso/i.iso local:snippets/s.yaml local:vztmpl/t.tar.zst"
	if got := l.volids("pve1", "local"); got != want {
		t.Errorf("the storage has %q, want %q", got, want)
	}
	// What no volume has as its name is a file, and becomes one when it is renamed.
	if err := errors.Join(files.MkdirAll("/var/lib/vz/snippets/.part"), put("/var/lib/vz/snippets/.part/x", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	if got := l.volids("pve1", "local"); got != want {
		t.Errorf("the storage has %q, want %q", got, want)
	}
	if err := errors.Join(files.Chmod("/var/lib/vz/snippets/.part/x", 0o700), files.PosixRename("/var/lib/vz/snippets/.part/x", "/var/lib/vz/snippets/s.yaml")); err != nil {
		t.Fatal(err)
	}
	info, err := files.Stat("/var/lib/vz/snippets/s.yaml")
	if err != nil || info.Size() != 1 || info.Mode() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := files.Rename("/var/lib/vz/snippets/s.yaml", "/root/s.yaml"); err != nil {
		t.Error(err)
	}
	f, err := files.Open("/root/s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); string(got) != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := put("/var/lib/vz/import/large.raw", make([]byte, 101<<20)); err == nil {
		t.Error("more arrived than fits")
	}
	for _, err := range []error{put("/etc/pve/storage.cfg", nil), files.Remove("/var/lib/vz/snippets"), files.Remove("/var/lib/vz/snippets/none.yaml"), put("/nowhere/x", nil)} {
		if err == nil {
			t.Error("something was written that can't be")
		}
	}
}

// proxplane itself writes files so that nobody sees half of one.
func TestProxplaneWritesSnippets(t *testing.T) {
	l := newLab(t)
	host, port, _ := net.SplitHostPort(l.at["pve2"])
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ssh.Dial(t.Context(), host, ssh.Config{Port: number, Key: l.key, Fingerprints: []string{xssh.FingerprintSHA256(l.host)}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{"one", "two"} {
		if err := conn.WriteFile(t.Context(), "/var/lib/vz/snippets/user.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := l.sim.ReadVolume("pve2", "local:snippets/user.yaml"); err != nil || string(got) != "two" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := conn.Run(t.Context(), "ls -A /var/lib/vz/snippets", nil); err != nil || got != "user.yaml\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDisksAreImportedAsFromTerraform(t *testing.T) {
	l := newLab(t)
	c := l.login("pve1", "terraform", "tf")
	if err := l.sim.Host("pve1").Put("/var/lib/vz/template/iso/os.img", bytes.NewReader(pvesim.BootableImage()), 0); err != nil {
		t.Fatal(err)
	}
	disks := []string{
		strings.Join([]string{
			`set -e`, trySudo075, `file_id="local:iso/os.img"`, `file_format="raw"`, `datastore_id_target="thin"`, `vm_id="100"`, `disk_options="discard=on"`, `disk_interface="virtio0"`,
			`source_image=$(try_sudo "pvesm path $file_id")`,
			`imported_disk="$(try_sudo "qm disk import $vm_id $source_image $datastore_id_target -format $file_format" | grep "unused0" | cut -d ":" -f 3 | cut -d "'" -f 1)"`,
			`disk_id="${datastore_id_target}:$imported_disk,${disk_options}"`,
			`try_sudo "qm set $vm_id -${disk_interface} $disk_id"`,
		}, "; "),
		strings.Join([]string{
			`export TRY_SUDO_USE_SUDO=1`, `set -e`, trySudo, `file_id=local:iso/os.img`, `file_format=qcow2`, `datastore_id_target=local`, `vm_id=100`, `disk_options=discard=on`, `disk_interface=scsi0`,
			`source_image=$(try_sudo /usr/sbin/pvesm path $file_id)`,
			`imported_disk=$(try_sudo /usr/sbin/qm disk import $vm_id $source_image $datastore_id_target -format $file_format | grep unused0 | cut -d : -f 3 | cut -d \' -f 1)`,
			`disk_id=${datastore_id_target}:$imported_disk,$disk_options`,
			`try_sudo /usr/sbin/qm set $vm_id -${disk_interface} $disk_id`,
		}, "; "),
	}
	for _, script := range disks {
		if out, status := l.run(c, inBash(script), ""); status != 0 {
			t.Fatalf("%s\n%s", script, out)
		}
	}
	out, _ := l.run(c, "sudo qm config 100", "")
	for _, want := range []string{"virtio0: thin:vm-100-disk-0,discard=on,size=2G\n", "scsi0: local:100/vm-100-disk-0.qcow2,discard=on,size=2G\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the config lacks %q:\n%s", want, out)
		}
	}
	// It is a disk that boots.
	root := l.login("pve1", "root", "secret")
	l.wants(root, "qm start 100 && qm status 100", "status: running\n", 0)
	if _, err := l.sim.Host("pve1").Call("POST", "/nodes/pve1/qemu/100/agent/ping", map[string]any{}, func(string) {}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ command, want string }{
		{"qm disk import 100 /nope.img thin", "/nope.img: non-existent or non-regular file\n"},
		{"qm importdisk 999 /var/lib/vz/template/iso/os.img thin", "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist\n"},
		{"qm importdisk 100 /var/lib/vz/template/iso/os.img none", "storage 'none' does not exist\n"},
		{"qm set 100 --memory 3", "400 Parameter verification failed.\nmemory: invalid format - format error\nmemory.current: value must have a minimum value of 16\n"},
		{"pvesm path local:bogus/x", "unable to parse directory volume name 'bogus/x'\n"},
	} {
		l.wants(root, c.command, c.want, 255)
	}
	// A file that is on no storage can be imported, too.
	if out, status := l.run(root, "cat > /tmp/other.img && qm importdisk 100 /tmp/other.img local", string(pvesim.BootableImage())); status != 0 ||
		!strings.Contains(out, "unused0: successfully imported disk 'local:100/vm-100-disk-1.raw'\n") {
		t.Errorf("%s", out)
	}
}

func TestTheShellReachesNothingOfThisMachine(t *testing.T) {
	l := newLab(t)
	c := l.login("pve1", "root", "secret")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of this machine"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OF_THIS_MACHINE", "secret")
	for _, command := range []string{"cat " + secret, "cat < " + secret, ". " + secret, "ls " + filepath.Dir(secret) + "/*", "test -e " + secret, "cd " + filepath.Dir(secret), "cp " + secret + " /tmp/x"} {
		if out, status := l.run(c, command, ""); status == 0 || strings.Contains(out, "of this") {
			t.Errorf("%s: %q, exit status %d", command, out, status)
		}
	}
	l.wants(c, `echo "$OF_THIS_MACHINE"`, "\n", 0)
	l.wants(c, "echo x > "+secret+".new; test -e "+secret+".new", "bash: line 1: "+secret+".new: No such file or directory\n", 1)
	l.wants(c, "foo", "bash: line 1: foo: command not found\n", 127)
	l.wants(c, "/usr/bin/perl -e 1", "bash: line 1: /usr/bin/perl: No such file or directory\n", 127)
	l.wants(c, "command -v qm && ! command -v perl", "/usr/sbin/qm\n", 0)
	l.wants(c, "pwd; cd /etc; pwd; cat hostname", "/root\n/etc\npve1\n", 0)
	l.wants(c, "exit 3", "", 3)

	// Secrets that the API doesn't show are in the files that Proxmox has for them.
	if _, err := l.sim.Host("pve1").Call("POST", "/cluster/metrics/server/flux", map[string]any{"type": "influxdb", "server": "10.0.0.8", "port": "8086", "token": "s3cret"}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	l.wants(c, "cat /etc/pve/priv/metricserver/flux.pw 2>/dev/null || echo MISSING", "s3cret", 0)
	l.wants(l.login("pve1", "terraform", "tf"), "cat /etc/pve/priv/metricserver/flux.pw 2>/dev/null || echo MISSING", "MISSING\n", 0)
}

func TestPeopleTypeCommands(t *testing.T) {
	l := newLab(t)
	s, err := l.login("pve1", "root", "secret").NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out bytes.Buffer
	s.Stdin, s.Stdout = strings.NewReader("cd /etc\rcat hostname\r(\rexit 5\r"), &out
	if err := errors.Join(s.RequestPty("xterm", 30, 100, nil), s.Shell()); err != nil {
		t.Fatal(err)
	}
	var exit *xssh.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 5 {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"root@pve1:~# ", "root@pve1:/etc# ", "\r\npve1\r\n", "bash: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q isn't shown in %q", want, out.String())
		}
	}
}

// The client that people have.
func TestOpenSSHIsServed(t *testing.T) {
	program, files := need.Program(t, "ssh"), need.Program(t, "sftp")
	l := newLab(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	host, port, _ := net.SplitHostPort(l.at["pve1"])
	options := []string{"-F", "none", "-i", write("key", string(l.key)), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes",
		"-o", "UserKnownHostsFile=" + write("known", "["+host+"]:"+port+" "+string(xssh.MarshalAuthorizedKey(l.host)))}
	do := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return string(out)
	}
	if got := do(program, append(options, "-p", port, "root@"+host, "hostname")...); got != "pve1\n" {
		t.Errorf("%q", got)
	}
	batch := write("batch", "put "+write("user.yaml", "#cloud-config\n")+" /var/lib/vz/snippets/\nls -l /var/lib/vz/snippets\nget /var/lib/vz/snippets/user.yaml "+filepath.Join(dir, "back")+"\n")
	do(files, append(options, "-P", port, "-b", batch, "root@"+host)...)
	if got, err := os.ReadFile(filepath.Join(dir, "back")); err != nil || string(got) != "#cloud-config\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got := l.volids("pve1", "local"); got != "local:snippets/user.yaml" {
		t.Errorf("the storage has %q", got)
	}
}
