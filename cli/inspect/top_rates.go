package inspect

import (
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// counters are what a guest has moved since its start, and how fast it did lately.
type counters struct {
	uptime               int64
	in, out, read, write int64
	rates                *rates
}

// rates are bytes a second.
type rates struct {
	NetIn     int64 `json:"netInBytesPerSecond"`
	NetOut    int64 `json:"netOutBytesPerSecond"`
	DiskRead  int64 `json:"diskReadBytesPerSecond"`
	DiskWrite int64 `json:"diskWriteBytesPerSecond"`
}

// since are the rates since an earlier look. A guest's uptime is the clock: it stands
// still between two status rounds.
func (c counters) since(old counters) *rates {
	seconds := c.uptime - old.uptime
	switch {
	case seconds == 0:
		return old.rates
	case seconds < 0 || old.uptime == 0 || c.in < old.in || c.out < old.out || c.read < old.read || c.write < old.write:
		return nil // it was started anew
	}
	return &rates{(c.in - old.in) / seconds, (c.out - old.out) / seconds, (c.read - old.read) / seconds, (c.write - old.write) / seconds}
}

func (t *topping) rates(r pve.Resource) *rates {
	now := counters{uptime: r.Uptime, in: r.NetIn, out: r.NetOut, read: r.DiskRead, write: r.DiskWrite}
	if r.Status != string(model.StatusRunning) {
		delete(t.last, r.ID)
		return nil
	}
	now.rates = now.since(t.last[r.ID])
	t.last[r.ID] = now
	return now.rates
}

func add(sums map[string]*rates, node string, r *rates) {
	if r == nil {
		return
	}
	if sums[node] == nil {
		sums[node] = &rates{}
	}
	s := sums[node]
	s.NetIn, s.NetOut, s.DiskRead, s.DiskWrite = s.NetIn+r.NetIn, s.NetOut+r.NetOut, s.DiskRead+r.DiskRead, s.DiskWrite+r.DiskWrite
}

func (r *rates) net() int64 {
	if r == nil {
		return 0
	}
	return r.NetIn + r.NetOut
}

func (r *rates) disk() int64 {
	if r == nil {
		return 0
	}
	return r.DiskRead + r.DiskWrite
}
