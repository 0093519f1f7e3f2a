package machines

import (
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	recorder "k8s.io/client-go/tools/record"
)

// GetEventRecorderFor gives a recorder without events about conflicts.
func (m scalable) GetEventRecorderFor(name string) recorder.EventRecorder {
	return quiet{m.Manager.GetEventRecorderFor(name)} //nolint:staticcheck // machine-controller's controllers ask for it
}

// quiet leaves out that somebody else has written an object first, or is deleting it: machine-controller's controllers make a warning of it, and try again at once.
type quiet struct{ recorder.EventRecorder }

// Eventf emits an event.
func (q quiet) Eventf(o runtime.Object, kind, reason, format string, args ...any) {
	if !slices.ContainsFunc(args, conflict) {
		q.EventRecorder.Eventf(o, kind, reason, format, args...)
	}
}

// conflict reports whether something is the error that somebody else has written an object first, or is deleting it. machine-controller's controllers make other
// errors of the latter.
func conflict(v any) bool {
	err, ok := v.(error)
	return ok && (apierrors.IsConflict(err) || strings.Contains(err.Error(), errNoMore.Error()))
}
