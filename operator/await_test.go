package operator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lateMapper is of a Kubernetes that knows the kinds only after a while.
type lateMapper struct {
	meta.RESTMapper
	from time.Time
	err  error
}

func (m lateMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if m.err != nil {
		return nil, m.err
	}
	if time.Now().Before(m.from) {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return &meta.RESTMapping{}, nil
}

func TestTheOperatorWaitsForItsKinds(t *testing.T) {
	for _, c := range []struct {
		because string
		late    time.Duration
		err     error
		want    string
	}{
		{"they are known", 0, nil, ""},
		{"they were applied a moment ago", 5 * time.Second, nil, ""},
		{"nobody has applied them", time.Hour, nil, "kubectl apply -f deploy/crds"},
		{"Kubernetes refuses to say", 0, errors.New("forbidden"), "forbidden"},
	} {
		synctest.Test(t, func(t *testing.T) {
			err := awaitKinds(context.Background(), lateMapper{from: time.Now().Add(c.late), err: c.err})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.because, err)
			}
		})
	}
}
