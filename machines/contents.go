package machines

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// contents reads Secrets and ConfigMaps past the cache, which holds no contents; each once in a while,
// however many Machines name it.
type contents struct {
	reader client.Reader
	now    func() time.Time

	mu    sync.Mutex
	known map[string]content
}

type content struct {
	data map[string]string
	at   time.Time
}

// contentAge is how long something that was read is good for.
const contentAge = 5 * time.Second

func newContents(r client.Reader) *contents {
	return &contents{reader: r, now: time.Now, known: map[string]content{}}
}

// read gives the keys of a Secret or ConfigMap; nil: there is none.
func (c *contents) read(ctx context.Context, kind, namespace, name string) (map[string]string, error) {
	key := kind + " " + namespace + "/" + name
	c.mu.Lock()
	defer c.mu.Unlock() // who needs the same waits for it
	if have, ok := c.known[key]; ok && c.now().Sub(have.at) < contentAge {
		return have.data, nil
	}
	data, err := c.fetch(ctx, kind, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	c.known[key] = content{data: data, at: c.now()}
	return data, nil
}

func (c *contents) fetch(ctx context.Context, kind string, name types.NamespacedName) (map[string]string, error) {
	data := map[string]string{}
	if kind == "Secret" {
		var s corev1.Secret
		if err := c.reader.Get(ctx, name, &s); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		for k, v := range s.Data {
			data[k] = string(v)
		}
		return data, nil
	}
	var m corev1.ConfigMap
	if err := c.reader.Get(ctx, name, &m); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	for k, v := range m.Data {
		data[k] = v
	}
	return data, nil
}
