package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// simulator is a simulated Proxmox in a process of its own.
type simulator struct {
	cmd         *exec.Cmd
	url         string
	fingerprint string
	http        *http.Client
}

// startSim starts one that serves so many clones at a time on each storage.
func startSim(ctx context.Context, binary, dir string, world []byte, places int) (*simulator, error) {
	file := filepath.Join(dir, "world.yaml")
	text := string(world) + fmt.Sprintf("\nlocks: {storage: %d}\n", places)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	s := &simulator{cmd: exec.CommandContext(ctx, binary, "sim", "--listen", "127.0.0.1:0", "--world", file)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the simulator: %w", err)
	}
	for lines := bufio.NewScanner(out); s.url == "" && lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if print, ok := strings.CutPrefix(line, "fingerprint"); ok {
			s.fingerprint = strings.TrimSpace(print)
		}
		s.url, _ = strings.CutPrefix(line, "ready: ")
		if s.url == line {
			s.url = ""
		}
	}
	if s.url == "" {
		s.stop()
		return nil, errors.New("the simulator doesn't come up")
	}
	s.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	return s, nil
}

// stop ends the simulator.
func (s *simulator) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait() // it ends by our signal
}

func (s *simulator) get(path string, out any) error {
	res, err := s.http.Get(s.url + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(out)
}

// requests is how many it has got so far.
func (s *simulator) requests() (int, error) {
	var log struct{ Count int }
	err := s.get("/sim/requests?after=1000000000", &log)
	return log.Count, err
}

// failed are the exit statuses of tasks that failed.
func (s *simulator) failed() ([]string, error) {
	var state struct {
		Tasks map[string][]struct{ Type, Exit string }
	}
	if err := s.get("/sim/state", &state); err != nil {
		return nil, err
	}
	var out []string
	for _, list := range state.Tasks {
		for _, t := range list {
			if t.Exit != "" && t.Exit != "OK" {
				out = append(out, t.Type+": "+t.Exit)
			}
		}
	}
	return out, nil
}
