package loadtest

import (
	"testing"
	"time"
)

func seq(n int) (list []time.Duration) {
	for i := range n {
		list = append(list, time.Duration(i+1)*time.Millisecond)
	}
	return list
}

func TestPercentilesAreValuesThatWereMeasured(t *testing.T) {
	for _, c := range []struct {
		n    int
		p    float64
		want time.Duration
	}{
		{0, 50, 0},
		{1, 50, 1 * time.Millisecond},
		{1, 99, 1 * time.Millisecond},
		{2, 50, 1 * time.Millisecond},
		{10, 50, 5 * time.Millisecond},
		{10, 95, 10 * time.Millisecond},
		{20, 95, 19 * time.Millisecond},
		{100, 50, 50 * time.Millisecond},
		{100, 95, 95 * time.Millisecond},
		{100, 99, 99 * time.Millisecond},
		{1000, 99, 990 * time.Millisecond},
	} {
		if got := percentile(seq(c.n), c.p); got != c.want {
			t.Errorf("P%v of 1 to %d ms is %v, want %v", c.p, c.n, got, c.want)
		}
	}
}

func TestFiguresCountWhatFailedApart(t *testing.T) {
	var samples []Sample
	for _, d := range seq(20) {
		samples = append(samples, Sample{Took: d})
	}
	samples[0] = Sample{Took: time.Hour, Error: "no space left on device"}
	f := figure(Create, samples, 30*time.Second, 100, 40)
	if f.Done != 19 || f.Failed != 1 || f.Longest != 20*time.Millisecond || f.P50 != 11*time.Millisecond {
		t.Errorf("%+v", f)
	}
	if f.PerMinute != 38 || f.Requests != 5 || f.Writes != 2 {
		t.Errorf("%v a minute, %v requests, %v writes", f.PerMinute, f.Requests, f.Writes)
	}
	if f := figure(Create, nil, 0, 7, 7); f.PerMinute != 0 || f.Requests != 0 || f.P99 != 0 {
		t.Errorf("of nothing: %+v", f)
	}
}
