package pve

import (
	"context"
	"time"
)

// StartOptions say how a VM is started.
type StartOptions struct {
	Timeout  time.Duration `pve:"timeout"`   // for the start itself
	Machine  string        `pve:"machine"`   // instead of the configured type
	ForceCPU string        `pve:"force-cpu"` // root only
	SkipLock bool          `pve:"skiplock"`  // root only
}

// Start starts the VM. One that doesn't exist, is locked, is a template or runs already makes
// the task fail, not the call.
func (v VM) Start(ctx context.Context, opts StartOptions) (UPID, error) {
	return v.power(ctx, "start", opts)
}

// StopOptions say how a VM is stopped.
type StopOptions struct {
	Timeout          time.Duration `pve:"timeout"`
	OverruleShutdown bool          `pve:"overrule-shutdown"` // end a shutdown that is under way
	KeepActive       bool          `pve:"keepActive"`        // root only: leave its storages active
	SkipLock         bool          `pve:"skiplock"`          // root only
}

// Stop pulls the plug. Stopping a stopped VM succeeds.
func (v VM) Stop(ctx context.Context, opts StopOptions) (UPID, error) {
	return v.power(ctx, "stop", opts)
}

// ShutdownOptions say how a VM is shut down.
type ShutdownOptions struct {
	Timeout    time.Duration `pve:"timeout"`   // how long the guest may take
	ForceStop  bool          `pve:"forceStop"` // then pull the plug, instead of failing
	KeepActive bool          `pve:"keepActive"`
	SkipLock   bool          `pve:"skiplock"`
}

// Shutdown asks the guest to shut down, through its agent or by ACPI.
func (v VM) Shutdown(ctx context.Context, opts ShutdownOptions) (UPID, error) {
	return v.power(ctx, "shutdown", opts)
}

// RebootOptions say how a VM is rebooted.
type RebootOptions struct {
	Timeout time.Duration `pve:"timeout"` // how long the guest may take to shut down
}

// Reboot shuts the VM down and starts it again, which applies pending changes. It must run.
func (v VM) Reboot(ctx context.Context, opts RebootOptions) (UPID, error) {
	return v.power(ctx, "reboot", opts)
}

// SuspendOptions say how a VM is suspended.
type SuspendOptions struct {
	ToDisk       bool   `pve:"todisk"`
	StateStorage string `pve:"statestorage"` // with ToDisk
	SkipLock     bool   `pve:"skiplock"`
}

// Suspend pauses the VM, or hibernates it.
func (v VM) Suspend(ctx context.Context, opts SuspendOptions) (UPID, error) {
	return v.power(ctx, "suspend", opts)
}

// ResumeOptions say how a VM is resumed.
type ResumeOptions struct {
	NoCheck  bool `pve:"nocheck"`
	SkipLock bool `pve:"skiplock"`
}

// Resume lets a paused VM go on.
func (v VM) Resume(ctx context.Context, opts ResumeOptions) (UPID, error) {
	return v.power(ctx, "resume", opts)
}

func (v VM) power(ctx context.Context, verb string, opts any) (UPID, error) {
	return post[UPID](ctx, v.c, opts, "/nodes/{node}/qemu/{vmid}/status/"+verb, v.Node, v.ID)
}
