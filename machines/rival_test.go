package machines

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// elected is a machine-controller that renews its lease as long as it runs.
func elected(ctx context.Context, t *testing.T, c client.Client) {
	t.Helper()
	for {
		name, now := "mc-0", metav1.NowMicro()
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: rivalNamespace, Name: rivalLease}}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(l), l)
		l.Namespace, l.Name, l.Spec = rivalNamespace, rivalLease, coordinationv1.LeaseSpec{HolderIdentity: &name, RenewTime: &now}
		if apierrors.IsNotFound(err) {
			err = c.Create(t.Context(), l)
		} else if err == nil {
			err = c.Update(t.Context(), l)
		}
		if err != nil {
			t.Error(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
	}
}

// MachineDeployments are left to a machine-controller as long as it runs, also if it begins later, and to nobody who ran once.
func TestMachineDeploymentsAreLeftToAMachineController(t *testing.T) {
	for name, c := range map[string]struct {
		from, until time.Duration // when it runs; 0 and 0: never
		before      time.Duration // how long ago it ran last; 0: never
		begins      time.Duration // when our controllers begin, at the latest; 0: they don't
		ends        bool          // the process ends
	}{
		"none ever":                 {begins: time.Second},
		"one that ran an hour ago":  {before: time.Hour, begins: time.Second},
		"one that ran just now":     {before: time.Second, begins: 25 * time.Second},
		"one that runs":             {until: time.Hour},
		"one that ends":             {until: time.Minute, begins: 90 * time.Second},
		"one that begins later":     {from: 10 * time.Minute, until: time.Hour, begins: time.Second, ends: true},
		"one whose clock is behind": {before: 5 * time.Minute, begins: 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
				if c.before > 0 {
					ctx, end := context.WithCancel(t.Context())
					end()
					elected(ctx, t, kube)
					time.Sleep(c.before)
				}
				ctx, end := context.WithCancel(t.Context())
				defer end()
				if c.until > 0 {
					go func() {
						if c.from > 0 {
							time.Sleep(c.from)
						}
						its, done := context.WithTimeout(ctx, c.until-c.from)
						defer done()
						elected(its, t, kube)
					}()
					synctest.Wait()
				}
				r := newRival(kube, slog.New(slog.DiscardHandler))
				begun, ours := time.Now(), time.Duration(-1)
				go func() {
					_ = held{manager.RunnableFunc(func(context.Context) error { ours = time.Since(begun); return nil }), r}.Start(ctx)
				}()
				var err error
				go func() { err = r.Start(ctx) }()
				time.Sleep(30 * time.Minute)
				synctest.Wait()
				if (ours >= 0) != (c.begins > 0) || ours > c.begins {
					t.Errorf("ours begin after %v", ours)
				}
				if errors.Is(err, errRival) != c.ends {
					t.Errorf("the process ends with %v", err)
				}
				if runs := r.runs.Load(); runs != (c.begins == 0) {
					t.Errorf("it says that one runs: %v", runs)
				}
			})
		})
	}
}
