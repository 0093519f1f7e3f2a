package inspect

import (
	"strings"
	"testing"
)

func TestRatesAreBetweenTwoStatusRounds(t *testing.T) {
	first := counters{uptime: 100, in: 1000, out: 500}
	if r := first.since(counters{}); r != nil {
		t.Errorf("at first there is nothing to compare with, and the rate is %v", *r)
	}
	second := counters{uptime: 110, in: 3000, out: 500, read: 40960}
	second.rates = second.since(first)
	if want := (rates{NetIn: 200, DiskRead: 4096}); second.rates == nil || *second.rates != want {
		t.Errorf("have %v, want %v", second.rates, want)
	}
	same := second
	if r := same.since(second); r != second.rates {
		t.Errorf("between two rounds the rate stays; it is %v", r)
	}
	if r := (counters{uptime: 5, in: 10}).since(second); r != nil {
		t.Errorf("after a restart there is no rate; it is %v", *r)
	}
}

func TestTheLiveScreenIsNeverLongerThanTheTerminal(t *testing.T) {
	text := onScreen(strings.Repeat("line\n", 30), 10)
	if n := strings.Count(text, "\r\n"); n != 9 {
		t.Errorf("%d lines: %q", n, text)
	}
	if !strings.Contains(text, "… and 22 more") {
		t.Errorf("it doesn't say how many are missing: %q", text)
	}
}
