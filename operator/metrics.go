package operator

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// metrics are what Prometheus gets to see.
type metrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	steps     *prometheus.CounterVec
	tasks     *prometheus.HistogramVec
	readies   *prometheus.HistogramVec

	mu    sync.Mutex
	begun map[string]time.Time // tasks by UPID
}

// Buckets in seconds: of requests, and of what takes long.
var (
	quick = []float64{.01, .03, .1, .3, 1, 3, 10, 30}
	slow  = []float64{1, 3, 10, 30, 60, 180, 600, 1800}
)

func newMetrics(to prometheus.Registerer, s *providers, c *census) *metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		begun:     map[string]time.Time{},
		requests:  counter("proxplane_proxmox_requests_total", "Requests to Proxmox, by call and result (ok, or the kind of the error).", "provider", "method", "route", "result"),
		durations: histogram("proxplane_proxmox_request_duration_seconds", "How long Proxmox takes to answer.", quick, "provider", "method"),
		steps:     counter("proxplane_steps_total", "Steps of plans that have ended, by what they do and result (done or failed).", "provider", "action", "result"),
		tasks:     histogram("proxplane_task_duration_seconds", "How long tasks of Proxmox take that steps have started.", slow, "provider", "action"),
		readies:   histogram("proxplane_time_to_ready_seconds", "How long objects take from their creation until they are ready for the first time.", slow, "kind"),
	}
	to.MustRegister(m.requests, m.durations, m.steps, m.tasks, m.readies, &gauges{s}, c)
	return m
}

// label is a Provider as a label.
func label(provider model.Key) string { return provider.Namespace + "/" + provider.Name }

// exchange counts the requests of a Provider's client.
func (m *metrics) exchange(provider model.Key) func(pve.Exchange) {
	name := label(provider)
	return func(x pve.Exchange) {
		result := "ok"
		if x.Kind != "" {
			result = string(x.Kind)
		}
		m.requests.WithLabelValues(name, x.Method, x.Route, result).Inc()
		m.durations.WithLabelValues(name, x.Method).Observe(x.Duration.Seconds())
	}
}

// event counts steps and measures tasks.
func (m *metrics) event(provider model.Key, e engine.Event) {
	name := label(provider)
	switch e.Kind {
	case engine.Progress:
		m.mu.Lock()
		m.begun[e.Task] = e.Time
		m.mu.Unlock()
	case engine.Done:
		m.steps.WithLabelValues(name, e.Action, "done").Inc()
		if since, ok := m.ended(e.Task); ok {
			m.tasks.WithLabelValues(name, e.Action).Observe(e.Time.Sub(since).Seconds())
		}
	case engine.Failed:
		if e.Action != "" {
			m.steps.WithLabelValues(name, e.Action, "failed").Inc()
		}
		m.ended(e.Task)
	}
}

func (m *metrics) ended(task string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since, ok := m.begun[task]
	delete(m.begun, task)
	return since, ok
}

// ready notes that an object is ready.
func (m *metrics) ready(obj object) {
	m.readies.WithLabelValues(manifest.KindOf(obj)).Observe(time.Since(obj.GetCreationTimestamp().Time).Seconds())
}

// gauges are what is read off the Providers when somebody asks.
type gauges struct{ providers *providers }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	machinesDesc  = describe("proxplane_machines", "Machines of ours in Proxmox, by state.", "provider", "state")
	upDesc        = describe("proxplane_provider_up", "1 while Proxmox answers and takes the login.", "provider")
	ageDesc       = describe("proxplane_observer_age_seconds", "How old the newest list of the cluster is.", "provider")
	waitingDesc   = describe("proxplane_admission_waiting", "Requests that wait for their turn, by what they wait for.", "provider", "class", "node", "storage")
	inUseDesc     = describe("proxplane_admission_in_use", "Requests and tasks under way.", "provider", "class", "node", "storage")
	admissionDesc = describe("proxplane_admission_limit", "How many may be under way at once, as found out so far.", "provider", "class", "node", "storage")
)

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{machinesDesc, upDesc, ageDesc, waitingDesc, inUseDesc, admissionDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counted := map[*pve.Load]bool{}
	all := g.providers.list()
	slices.SortFunc(all, func(a, b *provider) int { return strings.Compare(label(a.key), label(b.key)) })
	for _, s := range all {
		name := label(s.key)
		s.mu.Lock()
		l, machines, up := s.link, s.machines, s.trouble == nil
		s.mu.Unlock()
		if l == nil {
			gauge(upDesc, 0, name)
			continue
		}
		gauge(upDesc, map[bool]float64{true: 1}[up && machines != nil], name)
		for state, n := range machines {
			gauge(machinesDesc, float64(n), name, state)
		}
		if age, ok := l.site.Observer().Age(); ok {
			gauge(ageDesc, age.Seconds(), name)
		}
		load := l.site.Client().Load()
		if counted[load] {
			continue // Providers for one Proxmox share it
		}
		counted[load] = true
		for _, u := range load.Usage() {
			labels := []string{name, u.Class.String(), u.Node, u.Storage}
			gauge(waitingDesc, float64(u.Waiting), labels...)
			gauge(inUseDesc, float64(u.InUse), labels...)
			gauge(admissionDesc, float64(u.Limit), labels...)
		}
	}
}
