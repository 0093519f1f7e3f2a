//go:build linux

package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the hook, and a virtiofsd.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "virtiofsd-") {
		fakeVirtiofsd()
	}
	if Called(os.Args[1:]) {
		os.Exit(Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// report is what the false daemon tells of its directory.
type report struct {
	Args    []string
	Files   []string
	Written string // an error, if it couldn't write
}

// fakeVirtiofsd is a daemon with the options of the real ones, that tells
// everybody who connects what it shares.
func fakeVirtiofsd() {
	old := strings.HasSuffix(os.Args[0], "-old")
	var socket, dir string
	for i, a := range os.Args {
		switch {
		case a == "--help" && old:
			fmt.Println("    -o source=PATH             shared directory tree")
			os.Exit(0)
		case a == "--help":
			fmt.Println("      --shared-dir <SHARED_DIR>")
			os.Exit(0)
		case strings.HasPrefix(a, "--socket-path="):
			socket = strings.TrimPrefix(a, "--socket-path=")
		case strings.HasPrefix(a, "--shared-dir=") && !old:
			dir = strings.TrimPrefix(a, "--shared-dir=")
		case a == "-o" && old:
			dir = strings.TrimPrefix(strings.Split(os.Args[i+1], ",")[0], "source=")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "fail")); err == nil {
		fmt.Fprintln(os.Stderr, "something is wrong here")
		os.Exit(3)
	}
	if _, err := os.Stat(filepath.Join(dir, "hang")); err == nil {
		// Not for ever: with nothing to wait for, Go ends a program that has no C in it.
		time.Sleep(time.Hour)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			os.Exit(0)
		}
		r := report{Args: os.Args[1:]}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			r.Files = append(r.Files, e.Name())
		}
		if err := os.WriteFile(filepath.Join(dir, "from-guest"), nil, 0o644); err != nil {
			r.Written = err.Error()
		}
		_ = json.NewEncoder(conn).Encode(r)
		conn.Close()
	}
}
