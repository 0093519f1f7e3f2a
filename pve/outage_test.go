package pve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// deadEnd is a Proxmox that can't be reached, until it is back.
type deadEnd struct {
	asked atomic.Int64
	back  atomic.Bool
}

func (d *deadEnd) RoundTrip(*http.Request) (*http.Response, error) {
	d.asked.Add(1)
	if !d.back.Load() {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(strings.NewReader(`{"data":{"version":"9.2","release":"9.2"}}`))}, nil
}

func TestAProxmoxThatIsAwayIsAskedNowAndThenOnlyHoweverManyWantToKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadEnd{}
		client, err := pve.New(pve.Config{Endpoints: []string{"https://pve1"}, Credentials: pve.Token("root@pam!a", "b"), RoundTripper: d})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		var answered atomic.Int64
		for range 50 {
			all.Go(func() {
				for ctx.Err() == nil {
					switch _, err := client.Version(ctx); {
					case err == nil:
						answered.Add(1)
						return
					case ctx.Err() != nil:
						return
					case !errors.Is(err, pve.ErrConnection) || !strings.Contains(err.Error(), "unexpected EOF"):
						t.Errorf("it doesn't say what is wrong: %v", err)
					}
					time.Sleep(time.Second)
				}
			})
		}
		time.Sleep(time.Minute)
		if n := d.asked.Load(); n < 10 || n > 100 {
			t.Errorf("it was asked %d times within a minute", n)
		}
		d.back.Store(true)
		time.Sleep(10 * time.Second)
		if n := answered.Load(); n != 50 {
			t.Errorf("%d of 50 have their answers soon after it is back", n)
		}
	})
}

func TestAFewFailuresKeepNobodyFromAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadEnd{}
		client, err := pve.New(pve.Config{Endpoints: []string{"https://pve1"}, Credentials: pve.Token("root@pam!a", "b"), RoundTripper: d})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // with four tries each
			if _, err := client.Version(t.Context()); err == nil {
				t.Fatal("it has answered")
			}
		}
		d.back.Store(true)
		if _, err := client.Version(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
