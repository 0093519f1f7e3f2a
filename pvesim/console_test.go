package pvesim_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// terminals is a simulator with a VM that runs and has a serial port.
func terminals(t *testing.T) (*pvesim.Sim, *pve.Client) {
	t.Helper()
	w := pvesim.DefaultWorld()
	w.Timing = pvesim.Timing{}
	w.Guests = append(w.Guests,
		pvesim.WorldGuest{ID: 100, Node: "pve1", Running: true, Config: map[string]string{"name": "web", "serial0": "socket", "scsi0": "nfs:1"}},
		pvesim.WorldGuest{ID: 101, Node: "pve1", Running: true, Config: map[string]string{"name": "mute", "scsi0": "nfs:1"}})
	sim, err := pvesim.New(w)
	if err != nil {
		t.Fatal(err)
	}
	transport, stop := sim.Transport()
	client, err := pve.New(pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "proxplane"), RoundTripper: transport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		stop()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	return sim, client
}

func TestSerialConsolesShowWhatIsTyped(t *testing.T) {
	_, client := terminals(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	vm := client.VM("pve1", 100)
	terminal, err := vm.Attach(ctx, "serial0")
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := terminal.Resize(100, 40); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(terminal, "ls\r"); err != nil {
		t.Fatal(err)
	}
	const want = "starting serial terminal on interface serial0\r\nls\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(terminal, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := vm.Stop(ctx, pve.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(terminal); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func TestConsolesThatArentThereSaySo(t *testing.T) {
	_, client := terminals(t)
	for serial, want := range map[string]string{"": "unable to find a serial interface\r\n", "serial1": "serial interface 'serial1' is not configured\r\n"} {
		terminal, err := client.VM("pve1", 101).Attach(t.Context(), serial)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(terminal); err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v", serial, got, err)
		}
		_ = terminal.Close()
	}
}

func TestConsolesThatNobodyComesToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := terminals(t)
		vm := client.VM("pve1", 100)
		console, err := vm.Terminal(t.Context(), "serial0")
		if err != nil {
			t.Fatal(err)
		}
		result, err := client.Task(console.UPID).Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), "connection timed out") {
			t.Errorf("the task of a console that nobody came to: %v, %v", result, err)
		}
	})
}
