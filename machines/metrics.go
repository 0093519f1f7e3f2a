package machines

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8c.io/machine-controller/pkg/controller/machinedeployment"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/machines/providerspec"
)

// metrics are those of machine-controller, under its names, so that its dashboards and alerts go on.
type metrics struct {
	workers                      prometheus.Gauge
	errors                       prometheus.Counter
	provisioning, deprovisioning prometheus.Histogram
}

func newMetrics(to prometheus.Registerer, c client.Client) *metrics {
	const prefix = "machine_controller_"
	times := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: prometheus.ExponentialBuckets(4, 2, 10)})
	}
	m := &metrics{
		workers:        prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "workers", Help: "How many Machines are looked at at once."}),
		errors:         prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "errors_total", Help: "Looks at Machines that have failed."}),
		provisioning:   times("provisioning_time_seconds", "How long Machines take from their creation to a ready Node."),
		deprovisioning: times("deprovisioning_time_seconds", "How long Machines take from their deletion until nothing is left."),
	}
	if to != nil {
		to.MustRegister(m.workers, m.errors, m.provisioning, m.deprovisioning, &census{client: c}, machinedeployment.NewCollector(context.Background(), c))
	}
	return m
}

// census counts Machines when somebody asks.
type census struct{ client client.Client }

var (
	machinesDesc = prometheus.NewDesc("machine_controller_machines_total", "Machines, by the version of their kubelet, provider and operating system.", []string{"kubelet_version", "provider", "os"}, nil)
	createdDesc  = prometheus.NewDesc("machine_controller_machine_created", "When a Machine was created.", []string{"machine"}, nil)
	deletedDesc  = prometheus.NewDesc("machine_controller_machine_deleted", "When a Machine was deleted that is still there.", []string{"machine"}, nil)
)

// Describe implements prometheus.Collector.
func (c *census) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{machinesDesc, createdDesc, deletedDesc} {
		ch <- d
	}
}

// patience bounds how long metrics wait for the cache.
const patience = 5 * time.Second

// Collect implements prometheus.Collector.
func (c *census) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var list clusterv1alpha1.MachineList
	if c.client.List(ctx, &list) != nil {
		return
	}
	type kind struct{ kubelet, provider, os string }
	count, seen := map[kind]int{}, map[string]bool{}
	for i := range list.Items {
		m := &list.Items[i]
		of := kind{kubelet: m.Spec.Versions.Kubelet, provider: provider(m)}
		if v, err := providerspec.Decode(raw(m)); err == nil {
			of.os = v.OperatingSystem
		}
		count[of]++
		if seen[m.Name] {
			continue // of another namespace; the original's labels can't tell them apart
		}
		seen[m.Name] = true
		ch <- prometheus.MustNewConstMetric(createdDesc, prometheus.GaugeValue, float64(m.CreationTimestamp.Unix()), m.Name)
		if m.DeletionTimestamp != nil {
			ch <- prometheus.MustNewConstMetric(deletedDesc, prometheus.GaugeValue, float64(m.DeletionTimestamp.Unix()), m.Name)
		}
	}
	if len(count) == 0 {
		count[kind{}] = 0 // so that the metric is there, as in the original
	}
	for of, n := range count {
		ch <- prometheus.MustNewConstMetric(machinesDesc, prometheus.GaugeValue, float64(n), of.kubelet, of.provider, of.os)
	}
}
