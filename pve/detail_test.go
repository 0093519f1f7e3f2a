package pve

import "testing"

func TestTheLogTellsWhatTheServerOfAURLSaid(t *testing.T) {
	log := []string{
		"--2026-11-15 04:00:00--  https://images.example.com/missing.qcow2",
		"HTTP request sent, awaiting response... 404 Not Found",
		"2026-11-15 04:00:01 ERROR 404: Not Found.",
		"",
		"TASK ERROR: download failed: exit code 8",
	}
	if got := exitError(UPID{}, "download failed: exit code 8", log).Detail(); got != "404: Not Found" {
		t.Errorf("%q", got)
	}
	if got := exitError(UPID{}, "clone failed", []string{"ERROR", "ERRORS 12: x"}).Detail(); got != "" {
		t.Errorf("%q", got)
	}
}
