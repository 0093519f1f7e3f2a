package pve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// proxmox stands in for a cluster: VM 100 is locked, everything else can be cloned.
func proxmox() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var data any
		switch {
		case strings.HasSuffix(r.URL.Path, "/qemu/100/clone"):
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"data":null,"message":"VM is locked (backup)\n"}`)
			return
		case strings.HasSuffix(r.URL.Path, "/clone"):
			data = "UPID:pve1:00000891:000A659C:6AF91910:qmclone:9000:ci@pve!t:"
		case strings.HasSuffix(r.URL.Path, "/status"):
			data = map[string]string{"status": "stopped", "exitstatus": "OK"}
		case strings.HasSuffix(r.URL.Path, "/tasks"):
			data = []map[string]any{{
				"upid": "UPID:pve1:00000891:000A659C:6AF91910:qmclone:9000:ci@pve!t:", "status": "OK", "endtime": 1794709778,
			}}
		case strings.HasSuffix(r.URL.Path, "/cluster/resources"):
			data = []map[string]any{{"type": "qemu", "vmid": 9000, "name": "debian-13", "node": "pve1", "template": 1}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
}

func newClient(url string) *pve.Client {
	c, err := pve.New(pve.Config{
		Endpoints:   []string{url},
		Credentials: pve.Token("ci@pve!t", "00000000-1111-2222-3333-444444444444"),
		TLS:         pve.TLS{Insecure: true}, // only because this example has no certificate
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// A linked clone of a template, and waiting for it.
func Example() {
	server := proxmox()
	defer server.Close()
	c := newClient(server.URL)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()

	resources, err := c.Cluster().Resources(ctx, "vm")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range resources {
		if !r.Template {
			continue
		}
		upid, err := c.VM(r.Node, r.VMID).Clone(ctx, pve.CloneOptions{NewID: 101, Name: "web-1"})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := c.Task(upid).Wait(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Println("cloned", r.Name)
	}
	// Output: cloned debian-13
}

// Errors have kinds, and keep all that Proxmox said.
func ExampleError() {
	server := proxmox()
	defer server.Close()
	c := newClient(server.URL)

	_, err := c.VM("pve1", 100).Clone(context.Background(), pve.CloneOptions{NewID: 101})
	var e *pve.Error
	switch {
	case errors.Is(err, pve.ErrLocked) && errors.As(err, &e):
		fmt.Println("locked by a", e.Lock)
	case errors.Is(err, pve.ErrUnknownOutcome):
		fmt.Println("look whether VM 101 is there before trying again")
	}
	fmt.Println(err)
	// Output:
	// locked by a backup
	// POST /nodes/pve1/qemu/100/clone: VM is locked (backup)
}

// Many tasks, one list call for each node and period.
func ExampleClient_Watch() {
	server := proxmox()
	defer server.Close()
	c := newClient(server.URL)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	watcher := c.Watch(ctx, pve.WatchOptions{})
	upid, err := c.VM("pve1", 9000).Clone(ctx, pve.CloneOptions{NewID: 101})
	if err != nil {
		log.Fatal(err)
	}
	result := <-watcher.Follow(upid)
	fmt.Println(result.ExitStatus, result.Err)
	// Output: OK <nil>
}

// Any call of the API can be made, with answers decoded into one's own types.
func ExampleClient_Call() {
	server := proxmox()
	defer server.Close()
	c := newClient(server.URL)

	var guests []struct {
		ID   int    `json:"vmid"`
		Name string `json:"name"`
	}
	err := c.Call(context.Background(), "GET", "/cluster/resources", pve.Params{"type": "vm"}, &guests)
	fmt.Println(guests, err)
	// Output: [{9000 debian-13}] <nil>
}

// New credentials are tried before they are used.
func ExampleClient_SetCredentials() {
	server := proxmox()
	defer server.Close()
	c := newClient(server.URL)

	next := pve.Token("ci@pve!t2", "55555555-6666-7777-8888-999999999999")
	if _, err := c.Probe(context.Background(), next); err != nil {
		log.Print("keeping the old ones: ", err)
		return
	}
	if err := c.SetCredentials(next); err != nil {
		log.Print(err)
	}
	fmt.Println("now using", next)
	// Output: now using token ci@pve!t2
}
