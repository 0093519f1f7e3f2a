//go:build linux

package qemu

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestSerialPortsServeEverybodyAndTheLog(t *testing.T) {
	near, guest := net.Pipe()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSerial(near, log)
	one, two := s.connect(), s.connect()
	if _, err := io.WriteString(guest, "login:\n"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []io.Reader{one, two} {
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "login:\n" {
			t.Errorf("got %q, %v", line, err)
		}
	}
	go func() { _, _ = io.WriteString(one, "root\n") }()
	if line, err := bufio.NewReader(guest).ReadString('\n'); err != nil || line != "root\n" {
		t.Errorf("the guest got %q, %v", line, err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	_ = guest.Close()
	for _, c := range []io.Reader{one, two, s.connect()} {
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("after the end: %d, %v", n, err)
		}
	}
	if text, err := os.ReadFile(log.Name()); err != nil || string(text) != "login:\n" {
		t.Errorf("the log has %q, %v", text, err)
	}
}
