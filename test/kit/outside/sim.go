package outside

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// SimOptions say which Proxmox is simulated, see `proxplane sim --help`.
type SimOptions struct {
	Program string // proxplane
	World   string // file; empty: the default world
	Release string
	Data    string // directory; empty: nothing is kept
	Log     string // file
	Speed   float64
}

// Sim is a simulated Proxmox in a process of its own.
type Sim struct {
	URL         string
	Fingerprint string // of its certificate

	options SimOptions
	listen  string
	process *Process
	http    *http.Client
}

// StartSim starts one on a free port, and returns when it answers. The end of ctx
// kills it.
func StartSim(ctx context.Context, o SimOptions) (*Sim, error) {
	s := &Sim{options: o, listen: "127.0.0.1:0"}
	// Whoever asks here wants to know, whatever the certificate.
	s.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it is on this machine
	return s, s.start(ctx)
}

func (s *Sim) start(ctx context.Context) error {
	args := []string{"sim", "--listen", s.listen}
	for flag, value := range map[string]string{"--world": s.options.World, "--pve": s.options.Release, "--data": s.options.Data, "--log": s.options.Log} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if s.options.Speed != 0 {
		args = append(args, "--speed", fmt.Sprint(s.options.Speed))
	}
	var err error
	if s.process, err = Start(ctx, Command{Program: s.options.Program, Args: args, Env: []string{"TMPDIR=" + os.TempDir()}}); err != nil {
		return fmt.Errorf("start the simulator: %w", err)
	}
	ready, err := s.process.Await(ctx, "ready: ")
	if err != nil {
		return fmt.Errorf("start the simulator: %w\n%s", err, s.process.err)
	}
	s.URL = strings.TrimPrefix(ready, "ready: ")
	s.listen = strings.TrimPrefix(s.URL, "https://")
	line, err := s.process.Await(ctx, "fingerprint")
	s.Fingerprint = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "fingerprint"))
	return err
}

// Stop lets the simulator end.
func (s *Sim) Stop() error {
	if err := s.process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	if r := s.process.Wait(); r.Code != 0 {
		return fmt.Errorf("the simulator: %v", r)
	}
	return nil
}

// Kill ends the simulator as a power cut would.
func (s *Sim) Kill() { s.process.Kill() }

// Restart starts it again at the same address, with what its data directory has
// kept.
func (s *Sim) Restart(ctx context.Context) error {
	if s.options.Data == "" {
		return errors.New("a simulator without a data directory begins anew")
	}
	s.process.Kill()
	s.http.CloseIdleConnections()
	return s.start(ctx)
}

// Env is the environment of a client: where the simulator is and who asks. The
// certificate has to be trusted by --fingerprint.
func (s *Sim) Env(tokenID, secret string) []string {
	return []string{"PVE_ENDPOINT=" + s.URL, "PVE_TOKEN_ID=" + tokenID, "PVE_TOKEN_SECRET=" + secret}
}

// State is all that the simulator knows.
func (s *Sim) State(ctx context.Context) (*pvesim.State, error) {
	state := &pvesim.State{}
	return state, s.call(ctx, http.MethodGet, "/sim/state", nil, state)
}

type requestLog struct {
	Count    int              `json:"count"`
	Requests []pvesim.Request `json:"requests"`
}

// Requests are those after the nth. Only the last ten thousand are kept.
func (s *Sim) Requests(ctx context.Context, after int) ([]pvesim.Request, error) {
	var log requestLog
	err := s.call(ctx, http.MethodGet, fmt.Sprintf("/sim/requests?after=%d", after), nil, &log)
	return log.Requests, err
}

// farOff is a request that hasn't been made yet.
const farOff = 1 << 30

// Count is how many requests have been answered.
func (s *Sim) Count(ctx context.Context) (int, error) {
	var log requestLog
	err := s.call(ctx, http.MethodGet, fmt.Sprintf("/sim/requests?after=%d", farOff), nil, &log)
	return log.Count, err
}

// Await waits until n requests have been answered.
func (s *Sim) Await(ctx context.Context, n int) error {
	var log requestLog
	return s.call(ctx, http.MethodGet, fmt.Sprintf("/sim/requests?after=%d&until=%d", farOff, n), nil, &log)
}

// Fault has the simulator do something wrong.
func (s *Sim) Fault(ctx context.Context, f pvesim.Fault) error {
	return s.call(ctx, http.MethodPost, "/sim/faults", f, nil)
}

// Heal removes all faults.
func (s *Sim) Heal(ctx context.Context) error {
	return s.call(ctx, http.MethodDelete, "/sim/faults", nil, nil)
}

// Faults are the rules, with how often each has struck.
func (s *Sim) Faults(ctx context.Context) (list []pvesim.FaultState, err error) {
	return list, s.call(ctx, http.MethodGet, "/sim/faults", nil, &list)
}

// Advance puts the simulator's clock forward: what was due meanwhile happens.
func (s *Sim) Advance(ctx context.Context, d time.Duration) error {
	return s.call(ctx, http.MethodPost, "/sim/clock", map[string]string{"advance": d.String()}, nil)
}

// call asks the simulator itself, not the Proxmox that it plays.
func (s *Sim) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, body)
	if err != nil {
		return err
	}
	res, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
