package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/yaml"
)

// expressions are all that the dashboard and the alerts ask Prometheus.
func expressions(t *testing.T) []string {
	t.Helper()
	var alerts struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	read(t, "files/alerts.yaml", &alerts)
	read(t, "files/dashboard.json", &dashboard)
	var all []string
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			all = append(all, r.Expr)
		}
	}
	for _, p := range dashboard.Panels {
		for _, x := range p.Targets {
			all = append(all, strings.ReplaceAll(x.Expr, "$__rate_interval", "5m"))
		}
	}
	if len(all) < 15 {
		t.Fatalf("only %d expressions", len(all))
	}
	return all
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, name))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// scraped are labels that Prometheus adds.
var scraped = []string{"job", "instance", "pod", "namespace"}

// unanswered is what an expression asks for and nobody exports.
func unanswered(t *testing.T, promql, expr string, exported []*dto.MetricFamily) []string {
	t.Helper()
	text, err := json.Marshal(expr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), promql)
	cmd.Stdin = strings.NewReader(string(text))
	var asked []struct {
		Metric string
		Labels []string
	}
	if err := json.Unmarshal([]byte(output(t, cmd)), &asked); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, a := range asked {
		there, ok := labelsOf(exported, a.Metric)
		if !ok {
			missing = append(missing, "nobody exports "+a.Metric)
			continue
		}
		for _, l := range a.Labels {
			if !slices.Contains(there, l) && !slices.Contains(scraped, l) {
				missing = append(missing, a.Metric+" has no label "+l)
			}
		}
	}
	return missing
}

// labelsOf are the labels of a metric, by the name that Prometheus stores it under.
func labelsOf(exported []*dto.MetricFamily, name string) (labels []string, ok bool) {
	for _, f := range exported {
		bucket := f.GetType() == dto.MetricType_HISTOGRAM && name == f.GetName()+"_bucket"
		if f.GetName() != name && !bucket || len(f.GetMetric()) == 0 {
			continue
		}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if bucket {
			labels = append(labels, "le")
		}
		return labels, true
	}
	return nil, false
}
