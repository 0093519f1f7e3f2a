package karpenter

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/proxplane/proxplane/pve"
)

// metrics are what Prometheus gets beside Karpenter's own.
type metrics struct {
	machines *prometheus.CounterVec
	failures *prometheus.CounterVec
	launches *prometheus.HistogramVec
	orphans  *prometheus.CounterVec
	requests *prometheus.CounterVec
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &metrics{
		machines: counter("proxplane_karpenter_machines_made_total", "Machines that were made for NodeClaims.", "region", "zone"),
		failures: counter("proxplane_karpenter_machines_failed_total", "Machines that couldn't be made, by reason (capacity, error).", "region", "zone", "reason"),
		orphans:  counter("proxplane_karpenter_machines_collected_total", "Machines that were removed since their NodeClaim was lost.", "region"),
		requests: counter("proxplane_karpenter_proxmox_requests_total", "Requests to Proxmox, by call and result (ok, or the kind of the error).", "region", "method", "route", "result"),
		launches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "proxplane_karpenter_launch_seconds", Help: "How long it takes from a NodeClaim to its running machine.", Buckets: []float64{3, 10, 20, 30, 60, 120, 300, 900},
		}, []string{"region", "zone"}),
	}
}

func (m *metrics) register(to prometheus.Registerer) error {
	var errs []error
	for _, c := range []prometheus.Collector{m.machines, m.failures, m.launches, m.orphans, m.requests} {
		errs = append(errs, to.Register(c))
	}
	return errors.Join(errs...)
}

func (m *metrics) made(z zone, took time.Duration) {
	m.machines.WithLabelValues(z.region, z.node).Inc()
	m.launches.WithLabelValues(z.region, z.node).Observe(took.Seconds())
}

func (m *metrics) failed(z zone, err error) {
	reason := "error"
	if cloudprovider.IsInsufficientCapacityError(err) {
		reason = "capacity"
	}
	m.failures.WithLabelValues(z.region, z.node, reason).Inc()
}

// exchange counts the requests to a region.
func (m *metrics) exchange(region string) func(pve.Exchange) {
	return func(x pve.Exchange) {
		result := "ok"
		if x.Kind != "" {
			result = string(x.Kind)
		}
		m.requests.WithLabelValues(region, x.Method, x.Route, result).Inc()
	}
}
