// Command goproxmox drives a Proxmox through the public go-proxmox library as
// its users do: it logs in, creates, changes, snapshots, clones, migrates and
// destroys machines. After each step it reads over the plain API what became
// of them. A line for each step; the first that fails ends it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	proxmox "github.com/luthermonson/go-proxmox"

	"github.com/proxplane/proxplane/test/clients/rawapi"
)

func main() {
	url := flag.String("url", "https://127.0.0.1:8006", "where Proxmox is; the password is in PROXMOX_PASSWORD")
	user := flag.String("user", "root@pam", "who to log in as")
	template := flag.String("template", "ubuntu-22-template", "name of a template with a guest agent")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()

	s := &story{url: *url, user: *user, password: os.Getenv("PROXMOX_PASSWORD"), template: *template}
	if err := s.run(ctx); err != nil {
		fmt.Println("FAIL", err)
		stop()
		os.Exit(1)
	}
}

// story is the state that the steps hand on.
type story struct {
	url, user, password, template string

	raw    *rawapi.Client
	client *proxmox.Client // by API token once there is one
	node   *proxmox.Node
	local  *proxmox.Storage
	vm     *proxmox.VirtualMachine
	golden *proxmox.VirtualMachine // a template of our own
	clone  *proxmox.VirtualMachine
}

// step is one thing to do and to check.
type step struct {
	name string
	do   func(context.Context) error
}

func (s *story) run(ctx context.Context) error {
	// The library asks once a second by default.
	proxmox.DefaultWaitInterval = 100 * time.Millisecond

	raw, err := rawapi.Login(ctx, s.url, s.user, s.password)
	if err != nil {
		return err
	}
	s.raw = raw
	for _, part := range [][]step{s.loginSteps(), s.storageSteps(), s.vmSteps(), s.snapshotSteps(), s.powerSteps(), s.cloneSteps(), s.cleanupSteps()} {
		for _, st := range part {
			began := time.Now()
			if err := st.do(ctx); err != nil {
				return fmt.Errorf("%s: %w", st.name, err)
			}
			fmt.Printf("ok   %s (%.1fs)\n", st.name, time.Since(began).Seconds())
		}
	}
	return nil
}

// wait waits for a task and turns a failed one into an error, which the
// library's own Wait does not do.
func wait(ctx context.Context, task *proxmox.Task, err error) error {
	if err != nil {
		return err
	}
	if task == nil {
		return fmt.Errorf("no task came back")
	}
	if err := task.Wait(ctx, proxmox.DefaultWaitInterval, 2*time.Minute); err != nil {
		return fmt.Errorf("wait for %s: %w", task.UPID, err)
	}
	if !task.IsSuccessful {
		return fmt.Errorf("task %s ended with %q", task.UPID, task.ExitStatus)
	}
	return nil
}

// config compares values of a VM's config, read without the library.
func (s *story) config(ctx context.Context, vm *proxmox.VirtualMachine, want map[string]string) error {
	have, err := s.raw.VM(ctx, vm.Node, int(vm.VMID))
	if err != nil {
		return err
	}
	for key, value := range want {
		if have.Text(key) != value {
			return fmt.Errorf("%s of VM %d is %q, expected %q", key, vm.VMID, have.Text(key), value)
		}
	}
	return nil
}

// status compares a VM's status, read without the library.
func (s *story) status(ctx context.Context, vm *proxmox.VirtualMachine, want string) error {
	have, err := s.raw.Status(ctx, vm.Node, int(vm.VMID))
	if err != nil {
		return err
	}
	if have.Text("qmpstatus") != want {
		return fmt.Errorf("VM %d is %q, expected %q", vm.VMID, have.Text("qmpstatus"), want)
	}
	return nil
}
