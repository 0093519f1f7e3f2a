package qemuarg

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/need"
)

func TestQEMUItselfReadsTheValues(t *testing.T) {
	values := append([]string{}, nasty...)
	dice := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values = append(values, randomValue(dice))
	}
	qemuReads(t, need.Program(t, "qemu-system-x86_64"), values)
}

// FuzzQEMUReadsWhatWeWrite does the same with any values: a text is cut into many,
// since a QEMU takes long to start.
func FuzzQEMUReadsWhatWeWrite(f *testing.F) {
	program := need.Program(f, "qemu-system-x86_64")
	f.Add(strings.Join(nasty, "\x00"))
	f.Fuzz(func(t *testing.T, text string) {
		var values []string
		for _, v := range strings.Split(text, "\x00") {
			if Check(v) == nil && len(v) <= longestValue && len(values) < 100 {
				values = append(values, v)
			}
		}
		qemuReads(t, program, values)
	})
}

// qemuReads gives values to QEMU and asks it what it understood: for options that
// its older parser reads (-chardev, as -fw_cfg and -virtfs) and for those of the
// newer one (-object).
func qemuReads(t *testing.T, program string, values []string) {
	t.Helper()
	dir := t.TempDir()
	options := []string{Option("-S"), Option("-nodefaults"), Option("-display", Param{"", "none"}), Option("-machine", Param{"", "none"})}
	names := map[string]string{} // of files, by the value they stand for
	for i, v := range values {
		options = append(options, Option("-object", Param{"", "authz-simple"}, Param{"id", fmt.Sprintf("a%d", i)}, Param{"identity", v}))
		if strings.Contains(v, "/") || len(v) > longestName {
			continue
		}
		names[v] = fmt.Sprintf("f%d-%s", i, v)
		options = append(options, Option("-chardev", Param{"", "file"}, Param{"id", fmt.Sprintf("c%d", i)}, Param{"path", filepath.Join(dir, names[v])}))
	}
	words, err := Split(Line(options...))
	if err != nil {
		t.Fatal(err)
	}
	qmp := startQEMU(t, program, words)
	for i, v := range values {
		var got string
		qmp.ask(t, "qom-get", map[string]any{"path": fmt.Sprintf("/objects/a%d", i), "property": "identity"}, &got)
		if got != v {
			t.Errorf("QEMU reads %q, want %q", got, v)
		}
		if name, ok := names[v]; ok {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%q: QEMU made no such file: %v", v, err)
			}
		}
	}
}

// longestValue is what one word of a command line can hold many of.
const longestValue = 1000

// longestName leaves room for what stands before it in the name of a file.
const longestName = 200

func randomValue(dice *rand.Rand) string {
	const letters = `,,,,==""''\\ ab/.{}$`
	b := make([]byte, dice.IntN(12))
	for i := range b {
		b[i] = letters[dice.IntN(len(letters))]
	}
	return string(b)
}

type monitor struct {
	conn net.Conn
	in   *bufio.Scanner
}

// startQEMU runs QEMU until the test ends, and connects to its monitor.
func startQEMU(t *testing.T, program string, args []string) *monitor {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "qmp")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := exec.Command(program, append(args, "-qmp", "unix:"+socket)...)
	var said strings.Builder
	cmd.Stderr = &said
	// Those who fuzz are killed when their time is over.
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		listener.Close()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	if err := listener.(*net.UnixListener).SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		<-ended
		t.Fatalf("QEMU: %v: %s", err, said.String())
	}
	t.Cleanup(func() { conn.Close() })
	m := &monitor{conn, bufio.NewScanner(conn)}
	m.in.Buffer(nil, 1<<20)
	m.in.Scan() // the greeting
	m.ask(t, "qmp_capabilities", map[string]any{}, nil)
	return m
}

func (m *monitor) ask(t *testing.T, command string, arguments map[string]any, answer any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"execute": command, "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.conn.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	for m.in.Scan() {
		var reply struct {
			Return json.RawMessage `json:"return"`
			Error  *struct{ Desc string }
			Event  string `json:"event"`
		}
		if err := json.Unmarshal(m.in.Bytes(), &reply); err != nil {
			t.Fatal(err)
		}
		if reply.Event != "" {
			continue
		}
		if reply.Error != nil {
			t.Fatalf("%s %v: %s", command, arguments, reply.Error.Desc)
		}
		if answer != nil {
			if err := json.Unmarshal(reply.Return, answer); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	t.Fatalf("%s: the monitor is gone: %v", command, m.in.Err())
}
