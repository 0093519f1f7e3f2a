package kube

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Brief reads each object once within a while, for many callers that need the same ones at once. What can't be found is remembered, too.
type Brief struct {
	client.Reader
	Age time.Duration

	mu    sync.Mutex
	known map[string]read
}

type read struct {
	object client.Object
	err    error
	at     time.Time
}

// Get reads an object. Who needs the same one waits for it.
func (b *Brief) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	name := fmt.Sprintf("%T %s", o, key)
	b.mu.Lock()
	defer b.mu.Unlock()
	have, known := b.known[name]
	if !known || time.Since(have.at) >= b.Age {
		err := b.Reader.Get(ctx, key, o, opts...)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
		if b.known == nil {
			b.known = map[string]read{}
		}
		maps.DeleteFunc(b.known, func(_ string, r read) bool { return time.Since(r.at) >= b.Age })
		have = read{o.DeepCopyObject().(client.Object), err, time.Now()}
		b.known[name] = have
	}
	if have.err == nil {
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(have.object.DeepCopyObject()).Elem())
	}
	return have.err
}
