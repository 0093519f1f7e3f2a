package pve

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestClientsThatShareTheLoadWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		cfg := virtual(s)
		cfg.Limiter = narrow(1)
		a := client(t, cfg)
		cfg.Limiter = narrow(1)
		b := client(t, cfg)
		b.Share(a.Load())
		clone := func(c *Client, id int) (UPID, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return c.VM(taskNode, 100).Clone(ctx, CloneOptions{NewID: id, Storage: "lvm"})
		}
		upid, err := clone(a, 101)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := clone(b, 102); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("another client may do as much again: %v", err)
		}
		if _, err := a.Task(upid).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := clone(b, 103); err != nil {
			t.Fatalf("the task of the other one has ended, and yet: %v", err)
		}
		b.Close() // nobody is going to see the end of its task
		if _, err := clone(a, 104); err != nil {
			t.Fatalf("a client that was closed keeps its place: %v", err)
		}
	})
}
