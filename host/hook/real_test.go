//go:build linux

package hook

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/firstboot/qemuarg"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/image"
	"github.com/proxplane/proxplane/test/kit/need"
)

// TestQEMUConnectsToBothDaemons starts a VM as Proxmox would: hook, QEMU with
// the args, and the hook again.
func TestQEMUConnectsToBothDaemons(t *testing.T) {
	need.Root(t)
	qemu := need.Program(t, "qemu-system-x86_64")
	t.Run("of the distribution", func(t *testing.T) {
		l := newLab(t)
		_, err := l.host().findVirtiofsd(t.Context(), Policy{})
		need.None(t, err)
		l.connects(qemu, "")
	})
	t.Run("in Rust", func(t *testing.T) {
		program, err := image.Virtiofsd(t.Context())
		need.None(t, err)
		newLab(t).connects(qemu, "virtiofsd: "+program+"\n")
	})
}

func (l *lab) connects(qemu, daemon string) {
	l.Helper()
	l.policy(daemon + "rules: [{vms: [100], shares: [{path: ROOT/srv, below: true, readOnly: true}, {path: ROOT/srv/rw}], seeds: ['local:iso/seed.iso']}]")
	l.iso("seed.iso", map[string]string{"user-data": ignition})
	l.vm(100, block("cloud-init: local:iso/seed.iso", "virtiofs: --path "+l.dir("srv/rw")+" --socket "+fs0+" --cache never", "virtiofs: --path "+l.dir("srv/ro")+" --socket "+fs1), "args: "+ignitionArgs(ignFile)+" "+socketArgs(fs0, fs1))
	for range 2 {
		l.must(100, PreStart)
		pids := []int{l.pid(100, fs0), l.pid(100, fs1)}
		quit := startQEMU(l.T, qemu, qemuarg.Line(
			"-object memory-backend-memfd,id=mem,size=64M,share=on -machine memory-backend=mem", ignitionArgs(l.path(ignFile)), socketArgs(l.path(fs0), l.path(fs1)),
			"-device vhost-user-fs-pci,queue-size=1024,chardev=fs0,tag=rw", "-device vhost-user-fs-pci,queue-size=1024,chardev=fs1,tag=ro"))
		// It serves one QEMU, and takes no more connections.
		l.until("QEMU to connect", func() bool { return !listening(l.path(fs0)) && !listening(l.path(fs1)) })
		quit()
		for _, pid := range pids {
			l.until("the daemon to end with QEMU", func() bool { _, ok := startTime(pid); return !ok })
		}
		l.must(100, PostStop)
		l.clean()
	}
	// A start that fails behind the hook leaves daemons that wait; stopping them
	// must work, too.
	l.must(100, PreStart)
	l.must(100, PostStop)
	l.clean()
}

// startQEMU starts a VM that stands still, and returns when its devices are
// there. What is returned ends it.
func startQEMU(t *testing.T, program, args string) (quit func()) {
	t.Helper()
	words, err := qemuarg.Split(args)
	if err != nil {
		t.Fatal(err)
	}
	socket := fmt.Sprintf("%s/qmp", t.TempDir())
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var said strings.Builder
	cmd := exec.Command(program, append([]string{"-S", "-nodefaults", "-display", "none", "-machine", "q35,accel=tcg", "-m", "64", "-qmp", "unix:" + socket}, words...)...)
	cmd.Stderr = &said
	cmd.Dir = os.TempDir()
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		listener.Close()
		close(ended)
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	if err := listener.(*net.UnixListener).SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err == nil {
		_, err = bufio.NewReader(conn).ReadString('\n')
	}
	if err != nil {
		_ = cmd.Process.Kill()
		<-ended
		t.Fatalf("QEMU: %v: %s", err, said.String())
	}
	return func() {
		_ = cmd.Process.Kill()
		<-ended
		conn.Close()
	}
}
