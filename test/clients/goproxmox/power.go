package main

import (
	"context"
	"fmt"

	proxmox "github.com/luthermonson/go-proxmox"
)

func (s *story) powerSteps() []step {
	return []step{
		{"start it", s.power((*proxmox.VirtualMachine).Start, "running")},
		{"change memory while it runs", s.pending},
		{"pause it", s.power((*proxmox.VirtualMachine).Pause, "paused")},
		{"resume it", s.power((*proxmox.VirtualMachine).Resume, "running")},
		{"reset it", s.power((*proxmox.VirtualMachine).Reset, "running")},
		{"take a snapshot while it runs", s.liveSnapshot},
		{"stop it", s.power((*proxmox.VirtualMachine).Stop, "stopped")},
		{"see the change of memory come in", func(ctx context.Context) error {
			return s.config(ctx, s.vm, map[string]string{"memory": "3072"})
		}},
		{"hear of a task that failed", s.failedTask},
		{"follow a task's log", s.taskLog},
	}
}

func (s *story) power(call func(*proxmox.VirtualMachine, context.Context) (*proxmox.Task, error), want string) func(context.Context) error {
	return func(ctx context.Context) error {
		task, err := call(s.vm, ctx)
		if err := wait(ctx, task, err); err != nil {
			return err
		}
		if err := s.vm.Ping(ctx); err != nil {
			return err
		}
		return s.status(ctx, s.vm, want)
	}
}

// pending: without hotplug of memory the new value waits for a stop.
func (s *story) pending(ctx context.Context) error {
	task, err := s.vm.Config(ctx, proxmox.VirtualMachineOption{Name: "memory", Value: 3072})
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	pending, err := s.vm.Pending(ctx)
	if err != nil {
		return err
	}
	for _, item := range *pending {
		if item.Key == "memory" {
			if fmt.Sprint(item.Value) != "4096" || fmt.Sprint(item.Pending) != "3072" {
				return fmt.Errorf("memory is %v and becomes %v", item.Value, item.Pending)
			}
			return nil
		}
	}
	return fmt.Errorf("memory is not in the list")
}

func (s *story) liveSnapshot(ctx context.Context) error {
	task, err := s.vm.NewSnapshot(ctx, "live")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	if err := s.snapshotParents(ctx, map[string]string{"live": "", "current": "live"}); err != nil {
		return err
	}
	task, err = s.vm.Snapshot("live").Delete(ctx)
	return wait(ctx, task, err)
}

func (s *story) failedTask(ctx context.Context) error {
	template, err := s.findTemplate(ctx)
	if err != nil {
		return err
	}
	task, err := template.Start(ctx)
	if err != nil {
		return err
	}
	success, completed, err := task.WaitForCompleteStatus(ctx, 30)
	if err != nil {
		return err
	}
	if !completed || success || task.ExitStatus == "OK" {
		return fmt.Errorf("starting a template: completed %t, success %t, exit status %q", completed, success, task.ExitStatus)
	}
	return nil
}

func (s *story) taskLog(ctx context.Context) error {
	task, err := s.vm.Start(ctx)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	log, err := task.Log(ctx, 0, 50)
	if err != nil {
		return err
	}
	last := ""
	for i := range len(log) {
		last = log[i]
	}
	if last != "TASK OK" {
		return fmt.Errorf("the log ends with %q", last)
	}
	cluster, err := s.client.Cluster(ctx)
	if err != nil {
		return err
	}
	tasks, err := cluster.Tasks(ctx)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.UPID == task.UPID {
			task, err = s.vm.Stop(ctx)
			return wait(ctx, task, err)
		}
	}
	return fmt.Errorf("%s is not among the cluster's tasks", task.UPID)
}
