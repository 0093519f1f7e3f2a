package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/proxplane/proxplane/test/kit/outside"
)

// reading is what the operator has done and used since it was started.
type reading struct {
	at                   time.Time
	asked, changed       float64 // requests to Proxmox, and those of them that write
	kubeAsked, kubeWrote float64 // to Kubernetes
	readied              float64 // machines that have become ready
	outside.Usage
}

// read asks the operator.
func (p *part) read(ctx context.Context) (r reading, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, nil)
	if err != nil {
		return r, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		return r, fmt.Errorf("read the metrics: %w", err)
	}
	r.at = time.Now()
	r.asked, r.changed = requests(all["proxplane_proxmox_requests_total"])
	r.kubeAsked, r.kubeWrote = requests(all["rest_client_requests_total"])
	for _, m := range all["proxplane_time_to_ready_seconds"].GetMetric() {
		if value(m, "kind") == "VirtualMachine" {
			r.readied += float64(m.GetHistogram().GetSampleCount())
		}
	}
	r.Usage, err = p.operator.Usage()
	return r, err
}

// requests counts all, and those that write.
func requests(f *dto.MetricFamily) (all, writes float64) {
	for _, m := range f.GetMetric() {
		n := m.GetCounter().GetValue()
		all += n
		if value(m, "method") != http.MethodGet {
			writes += n
		}
	}
	return all, writes
}

// value is that of a label.
func value(m *dto.Metric, label string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == label {
			return l.GetValue()
		}
	}
	return ""
}

// cost is what was done and used between two readings; its peak is that of the
// whole life so far.
type cost struct {
	reading
	wall time.Duration
}

func (r reading) since(was reading) cost {
	c := cost{reading: r, wall: r.at.Sub(was.at)}
	c.asked, c.changed = r.asked-was.asked, r.changed-was.changed
	c.kubeAsked, c.kubeWrote = r.kubeAsked-was.kubeAsked, r.kubeWrote-was.kubeWrote
	c.readied, c.CPU = r.readied-was.readied, r.CPU-was.CPU
	return c
}

// measure does something, and tells what that has cost the operator.
func (p *part) measure(ctx context.Context, do func() error) (cost, error) {
	was, err := p.read(ctx)
	if err != nil {
		return cost{}, err
	}
	if err := do(); err != nil {
		return cost{}, err
	}
	now, err := p.read(ctx)
	return now.since(was), err
}

// calm is how long nothing may be written before things count as being at rest: two
// of the operator's rounds.
const calm = 40 * time.Second

// verifications are how many machines the operator verifies in a minute at most. It says
// when each was, which takes a write to Kubernetes.
const verifications = 60

// settle waits until for a while the operator has written nothing to Proxmox, and to
// Kubernetes no more than when machines were verified.
func (p *part) settle(ctx context.Context) error {
	var seen []reading
	return p.until(ctx, "things are at rest", func() (bool, error) {
		now, err := p.read(ctx)
		for len(seen) > 0 && now.at.Sub(seen[0].at) > calm+10*time.Second {
			seen = seen[1:]
		}
		seen = append(seen, now)
		was := seen[0]
		time.Sleep(time.Second) // to be asked is work too
		passed := now.at.Sub(was.at)
		quiet := now.changed == was.changed && float64(now.kubeWrote-was.kubeWrote) <= verifications*passed.Minutes()
		return quiet && passed >= calm, err
	})
}

// watch lets some time pass at rest. Its memory is the most of all seconds.
func (p *part) watch(ctx context.Context, how time.Duration) (cost, error) {
	var most int64
	c, err := p.measure(ctx, func() error {
		end := time.After(how)
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			u, err := p.operator.Usage()
			if err != nil {
				return err
			}
			most = max(most, u.Resident)
			select {
			case <-second.C:
			case <-end:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
	c.Resident = most
	return c, err
}
