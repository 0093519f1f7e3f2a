package pve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Agent is a handle for the guest agent of a VM. While the agent doesn't answer, calls fail
// with ErrAgentNotRunning after about three seconds. Each blocks one of the node's few workers
// for that long, so one call at a time is made on each node, or two while all answer promptly.
type Agent struct{ vm VM }

// Agent gives a handle for the VM's guest agent.
func (v VM) Agent() Agent { return Agent{v} }

func askAgent[T any](ctx context.Context, a Agent, method, command string, params any) (T, error) {
	return ask[T](ctx, a.vm.c, request{
		method: method, route: "/nodes/{node}/qemu/{vmid}/agent/" + command, args: []any{a.vm.Node, a.vm.ID},
		params: params, answering: true,
	})
}

// agentResult is how Proxmox wraps most of what the agent says.
type agentResult[T any] struct {
	Result T `json:"result"`
}

// Ping checks whether the agent answers: the error is nil if it does.
func (a Agent) Ping(ctx context.Context) error {
	_, err := askAgent[any](ctx, a, http.MethodPost, "ping", nil)
	return err
}

// GuestInterface is a network interface inside the guest.
type GuestInterface struct {
	Name      string `json:"name"`
	MAC       string `json:"hardware-address"`
	Addresses []struct {
		Address string `json:"ip-address"`
		Type    string `json:"ip-address-type"` // ipv4 or ipv6
		Prefix  int    `json:"prefix"`
	} `json:"ip-addresses"`
}

// Interfaces lists the guest's network interfaces with all their addresses.
func (a Agent) Interfaces(ctx context.Context) ([]GuestInterface, error) {
	out, err := askAgent[agentResult[[]GuestInterface]](ctx, a, http.MethodGet, "network-get-interfaces", nil)
	return out.Result, err
}

// ExecOptions describe a program to run in the guest.
type ExecOptions struct {
	Command []string `pve:"command,repeat"` // program and arguments; no shell
	Input   Secret   `pve:"input-data"`     // for its standard input, 64 KiB at most
}

// Exec starts a program in the guest and returns its process id.
func (a Agent) Exec(ctx context.Context, opts ExecOptions) (pid int, err error) {
	type process struct {
		PID int `json:"pid"`
	}
	out, err := askAgent[process](ctx, a, http.MethodPost, "exec", opts)
	return out.PID, err
}

// ExecStatus is how far a program in the guest is.
type ExecStatus struct {
	Exited       bool   `json:"exited"`
	ExitCode     int    `json:"exitcode"`
	Signal       int    `json:"signal"`
	Out          string `json:"out-data"`
	Err          string `json:"err-data"`
	OutTruncated bool   `json:"out-truncated"`
	ErrTruncated bool   `json:"err-truncated"`
}

type execStatusParams struct {
	PID int `pve:"pid"`
}

// ExecStatus asks for a program's state and output. Once it was told that a program has ended,
// the agent forgets about it.
func (a Agent) ExecStatus(ctx context.Context, pid int) (ExecStatus, error) {
	return askAgent[ExecStatus](ctx, a, http.MethodGet, "exec-status", execStatusParams{pid})
}

// Wait asks again and again until a program has ended. While Proxmox, the node or the agent is away, it goes on
// trying; the end of ctx ends the waiting, not the program.
func (a Agent) Wait(ctx context.Context, pid int) (ExecStatus, error) {
	clock := a.vm.c.core.cfg.Clock
	start := clock.Now()
	for {
		status, err := a.ExecStatus(ctx, pid)
		switch {
		case err == nil && status.Exited:
			return status, nil
		case err != nil && !passing(err) && !errors.Is(err, ErrAgentNotRunning):
			return status, fmt.Errorf("wait for process %d of VM %d: %w", pid, a.vm.ID, err)
		}
		if ended := sleep(ctx, clock, pollDelay(clock.Now().Sub(start), pollQuick, pollSlow)); ended != nil {
			return status, fmt.Errorf("wait for process %d of VM %d: %w", pid, a.vm.ID, ended)
		}
	}
}

// GuestFile is the content of a file in the guest.
type GuestFile struct {
	Content   string `json:"content"`
	Truncated bool   `json:"truncated"` // Proxmox reads 16 MiB at most
}

type fileReadParams struct {
	File string `pve:"file"`
}

// ReadFile reads a file in the guest.
func (a Agent) ReadFile(ctx context.Context, path string) (GuestFile, error) {
	return askAgent[GuestFile](ctx, a, http.MethodGet, "file-read", fileReadParams{path})
}
