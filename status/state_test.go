package status

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Not seen isn't gone: what was made and can't be seen may well be there.
func TestWhatIsHiddenIsNotAbsent(t *testing.T) {
	for _, c := range []struct {
		seen   model.Status
		reason model.Reason
		made   bool
		want   string
	}{
		{model.StatusRunning, model.WaitAway, true, "running"},
		{"", model.WaitAway, true, "unknown"},
		{"", model.WaitUnseen, true, "unknown"},
		{"", model.WaitForeign, true, "unknown"},
		{"", model.WaitForeign, false, "absent"}, // others have its place, and it was never made
		{"", model.WaitPlace, true, "absent"},
		{"", model.ReasonGone, true, "absent"},
	} {
		if got := GuestState(c.seen, c.reason, c.made); got != c.want {
			t.Errorf("seen %q, %s, made %v: %s, want %s", c.seen, c.reason, c.made, got, c.want)
		}
	}
}
