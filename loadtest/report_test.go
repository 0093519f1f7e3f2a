package loadtest

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func sampleReport() *Report {
	ms := time.Millisecond
	return &Report{
		Endpoint: "https://pve.example.com:8006", Version: "9.2.1", Nodes: 1, Machines: 2, Parallel: 1, Removed: 4,
		Command: "proxplane loadtest --count 2", Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Figures: []Figures{
			figure(Create, []Sample{{0, 1500 * ms, ""}, {1500 * ms, 2500 * ms, ""}}, 4*time.Second, 14, 6),
			figure(Describe, []Sample{{4000 * ms, 40 * ms, ""}, {4040 * ms, 60 * ms, "VM <101> isn't \"there\""}}, 100*ms, 10, 0),
			figure(PowerOn, []Sample{{4100 * ms, 101 * time.Second, ""}}, 101*time.Second, 3, 1),
		},
	}
}

func TestTheTextHasATableAndWhatWentWrong(t *testing.T) {
	want := `Proxmox VE 9.2.1 at https://pve.example.com:8006, 1 node; 2 machines, 1 at once

OPERATION  DONE  ERRORS     P50     P95     P99  A MINUTE  REQUESTS EACH  WRITES EACH
create        2       0  1.50 s  2.50 s  2.50 s        30            7.0          3.0
power on      1       0   101 s   101 s   101 s         1            3.0          1.0
describe      1       1   40 ms   40 ms   40 ms       600            5.0          0.0

✗ describe, once: VM <101> isn't "there"

All 4 machines were removed again.
`
	r := sampleReport()
	if got := r.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.OK() {
		t.Error("an operation failed, and all is well")
	}
	r.Left = "virtualmachine/load-0001 (VM 101) is left: locked"
	r.Ended = "it was interrupted"
	if end := r.End(); end != "It ended early: it was interrupted. Not all could be removed: "+r.Left+". Running it again removes the rest." {
		t.Error(end)
	}
}

func TestThePageIsWholeAndNeedsNothingFromElsewhere(t *testing.T) {
	var b strings.Builder
	if err := sampleReport().HTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"<script", "src=", "@import", "url(", "<link", "VM <101>", "NaN", "Inf"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(text, "<circle"); n != 4 {
		t.Errorf("%d dots for four operations that were done", n)
	}
	if n := strings.Count(text, "<path"); n != 1 {
		t.Errorf("%d crosses for one that failed", n)
	}
	if !strings.Contains(text, "VM &lt;101&gt; isn&#39;t &#34;there&#34;") {
		t.Error("what went wrong isn't told")
	}
	// The drawings are well-formed.
	for _, part := range strings.Split(text, "<svg")[1:] {
		svg, _, _ := strings.Cut(part, "</svg>")
		in := xml.NewDecoder(strings.NewReader("<svg" + svg + "</svg>"))
		for {
			if _, err := in.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in\n%s", err, svg)
			}
		}
	}
}

func TestThePageCanBeMadeOfNothing(t *testing.T) {
	for _, figures := range [][]Figures{nil, {figure(Create, []Sample{{0, 0, "it was interrupted"}}, 0, 0, 0)}} {
		var b strings.Builder
		if err := (&Report{Figures: figures, Ended: "it was interrupted"}).HTML(&b); err != nil || strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

func TestTheJSONSaysTheSame(t *testing.T) {
	b, err := json.Marshal(sampleReport())
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Simulator bool
		Figures   []struct {
			Operation string
			P95       time.Duration
			Samples   []Sample
		}
	}
	if err := json.Unmarshal(b, &back); err != nil || len(back.Figures) != 3 || back.Figures[0].P95 != 2500*time.Millisecond || len(back.Figures[1].Samples) != 2 {
		t.Errorf("%v: %s", err, b)
	}
}
