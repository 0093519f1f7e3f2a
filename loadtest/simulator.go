package loadtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Simulated reports whether the server at a URL is the simulator of `proxplane sim` and no
// real Proxmox. It must prove that: a request to the API with a random word has to appear
// in the simulator's own request log. A real Proxmox has no such log below /sim, and
// another server there hasn't seen the request.
func Simulated(ctx context.Context, client *http.Client, endpoint string) bool {
	endpoint = strings.TrimSuffix(endpoint, "/")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	const none = 1 << 30 // no request has this number yet
	before, ok := requestLog(ctx, client, endpoint, none)
	if !ok {
		return false
	}
	word := rand.Text()
	// Anybody may ask for this; the parameter isn't one that it has.
	if _, err := get(ctx, client, endpoint+"/api2/json/access/domains?"+word+"=1"); err != nil {
		return false
	}
	after, ok := requestLog(ctx, client, endpoint, before.Count)
	if !ok {
		return false
	}
	for _, r := range after.Requests {
		if strings.HasSuffix(r.URL, "/access/domains?"+word+"=1") {
			return true
		}
	}
	return false
}

type simLog struct {
	Count    int
	Requests []struct{ URL string }
}

// requestLog is the simulator's log after the nth request; false: there is none.
func requestLog(ctx context.Context, client *http.Client, endpoint string, after int) (log simLog, ok bool) {
	body, err := get(ctx, client, fmt.Sprintf("%s/sim/requests?after=%d", endpoint, after))
	return log, err == nil && json.Unmarshal(body, &log) == nil
}

// maxLog bounds what is read of an answer.
const maxLog = 16 << 20

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(io.LimitReader(res.Body, maxLog))
}
