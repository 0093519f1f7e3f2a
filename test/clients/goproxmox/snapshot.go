package main

import (
	"context"
	"fmt"

	proxmox "github.com/luthermonson/go-proxmox"

	"github.com/proxplane/proxplane/test/clients/rawapi"
)

func (s *story) snapshotSteps() []step {
	return []step{
		{"take a snapshot", s.snapshot},
		{"describe the snapshot", s.describeSnapshot},
		{"take a second one and list them", s.secondSnapshot},
		{"roll back", s.rollback},
		{"remove the snapshots", s.removeSnapshots},
	}
}

func (s *story) snapshot(ctx context.Context) error {
	task, err := s.vm.NewSnapshot(ctx, "before")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.snapshotParents(ctx, map[string]string{"before": "", "current": "before"})
}

// snapshotParents checks that exactly these snapshots are there, each with its
// parent; "current" is the state after the last one.
func (s *story) snapshotParents(ctx context.Context, want map[string]string) error {
	var list []rawapi.Object
	if err := s.raw.Get(ctx, fmt.Sprintf("/nodes/%s/qemu/%d/snapshot", s.vm.Node, s.vm.VMID), &list); err != nil {
		return err
	}
	if len(list) != len(want) {
		return fmt.Errorf("snapshots %v, expected %v", list, want)
	}
	for _, have := range list {
		parent, ok := want[have.Text("name")]
		if !ok || have.Text("parent") != parent {
			return fmt.Errorf("snapshots %v, expected %v", list, want)
		}
	}
	return nil
}

func (s *story) describeSnapshot(ctx context.Context) error {
	snap := s.vm.Snapshot("before")
	if err := snap.UpdateConfig(ctx, &proxmox.VirtualMachineSnapshotUpdateOptions{Description: "as it was"}); err != nil {
		return err
	}
	config, err := snap.Config(ctx)
	if err != nil {
		return err
	}
	if rawapi.Object(config).Text("description") != "as it was" || rawapi.Object(config).Text("memory") != "4096" {
		return fmt.Errorf("the snapshot's config is %v", config)
	}
	return nil
}

func (s *story) secondSnapshot(ctx context.Context) error {
	if err := s.vm.ConfigSync(ctx, options{{Name: "memory", Value: 1024}, {Name: "name", Value: "later"}}...); err != nil {
		return err
	}
	task, err := s.vm.NewSnapshot(ctx, "after")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	snaps, err := s.vm.Snapshots(ctx)
	if err != nil {
		return err
	}
	if len(snaps) != 3 {
		return fmt.Errorf("the library lists %d", len(snaps))
	}
	return s.snapshotParents(ctx, map[string]string{"before": "", "after": "before", "current": "after"})
}

func (s *story) rollback(ctx context.Context) error {
	// Thin volumes can go back over a newer snapshot.
	task, err := s.vm.Snapshot("before").Rollback(ctx)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	if err := s.snapshotParents(ctx, map[string]string{"before": "", "after": "before", "current": "before"}); err != nil {
		return err
	}
	return s.config(ctx, s.vm, map[string]string{"memory": "4096", "name": "renamed"})
}

func (s *story) removeSnapshots(ctx context.Context) error {
	for _, name := range []string{"before", "after"} {
		task, err := s.vm.Snapshot(name).Delete(ctx)
		if err := wait(ctx, task, err); err != nil {
			return err
		}
	}
	return s.snapshotParents(ctx, map[string]string{"current": ""})
}
