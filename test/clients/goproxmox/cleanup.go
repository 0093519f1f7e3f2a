package main

import (
	"context"
	"fmt"

	proxmox "github.com/luthermonson/go-proxmox"
)

func (s *story) cleanupSteps() []step {
	return []step{
		{"refuse to destroy a running VM", s.destroyRunning},
		{"destroy the VMs", s.destroyAll},
		{"remove the ISO files", s.removeISOs},
		{"remove pool and token", s.removeRest},
	}
}

func (s *story) destroyRunning(ctx context.Context) error {
	if _, err := s.vm.Delete(ctx, &proxmox.VirtualMachineDeleteOptions{}); err == nil {
		return fmt.Errorf("it was taken")
	}
	task, err := s.vm.Stop(ctx)
	return wait(ctx, task, err)
}

func (s *story) destroyAll(ctx context.Context) error {
	for _, vm := range []*proxmox.VirtualMachine{s.vm, s.clone, s.golden} {
		if err := vm.Ping(ctx); err != nil {
			return err
		}
		task, err := vm.Delete(ctx, &proxmox.VirtualMachineDeleteOptions{Purge: true, DestroyUnreferencedDisks: true})
		if err := wait(ctx, task, err); err != nil {
			return err
		}
		if _, err := s.raw.VM(ctx, vm.Node, int(vm.VMID)); err == nil {
			return fmt.Errorf("VM %d is still there", vm.VMID)
		}
	}
	return nil
}

func (s *story) removeISOs(ctx context.Context) error {
	// That with the cloud-init data goes with its VM.
	for _, name := range []string{uploaded, downloaded} {
		iso, err := s.local.ISO(ctx, name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		task, err := iso.Delete(ctx)
		if err := wait(ctx, task, err); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) removeRest(ctx context.Context) error {
	pool, err := s.client.Pool(ctx, "goproxmox")
	if err != nil {
		return err
	}
	if len(pool.Members) != 0 {
		return fmt.Errorf("the pool still has %v", pool.Members)
	}
	if err := pool.Delete(ctx); err != nil {
		return err
	}
	user, err := s.client.User(ctx, s.user)
	if err != nil {
		return err
	}
	return user.DeleteAPIToken(ctx, tokenName)
}
