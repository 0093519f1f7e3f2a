// Package sim serves a simulated Proxmox over HTTPS for stories, in which things
// happen quickly and in real time.
package sim

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// Server is a Proxmox that can be reached.
type Server struct {
	*pvesim.Sim
	Endpoint string
	Root     *pve.Client // somebody else, with a browser

	cancel context.CancelFunc
	ended  chan error
}

// The login of those who the stories are about.
const (
	User        = "me@pve"
	TokenID     = "me@pve!laptop"
	TokenSecret = "c0ffee00-0000-4000-8000-000000000000"
)

// StatusRound is how late the lists of the cluster are in a quick world.
const StatusRound = 200 * time.Millisecond

// Quick makes everything take a fiftieth of the time that it takes in a world, and
// lets agents answer at once: who asks too early waits for seconds.
func Quick(w *pvesim.World) {
	times := reflect.ValueOf(&w.Timing).Elem()
	for i := range times.NumField() {
		times.Field(i).SetInt(times.Field(i).Int() / 50)
	}
	w.Timing.Boot, w.Timing.Agent = 0, 0
	w.Load = pvesim.Load{Workers: 3, StatusRound: pvesim.Duration(StatusRound)}
}

// Late makes a quick world as late as clusters are: lists are a status round of ten seconds
// behind, so that most stories end before they are renewed, and becoming a template takes a second.
func Late(w *pvesim.World) {
	w.Load.StatusRound = pvesim.Duration(10 * time.Second)
	w.Timing.Template = pvesim.Duration(time.Second)
}

// Uneven makes a quick world as late (see [Late]) and as uneven as clusters are: no node is like
// another one. The first has so much more memory that a few machines more or less, which lists
// show late, don't change where the next one goes.
func Uneven(w *pvesim.World) {
	Late(w)
	for i := range w.Nodes {
		w.Nodes[i].CPUs, w.Nodes[i].Memory = 16>>i, pvesim.Size(64-8*i)<<30
	}
}

// Start serves a world with [User], who is an administrator unless the world has
// rules of its own.
func Start(w *pvesim.World, options ...pvesim.Option) (*Server, error) {
	w.Users = append(w.Users, pvesim.WorldUser{ID: User, Tokens: []pvesim.WorldToken{{Name: "laptop", Secret: TokenSecret}}})
	if len(w.ACL) == 0 {
		w.ACL = append(w.ACL, pvesim.WorldACL{Path: "/", Role: "Administrator", User: User})
	}
	sim, err := pvesim.New(w, append([]pvesim.Option{pvesim.WithInternet(internet{})}, options...)...)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cert, ca := certificate()
	s := &Server{Sim: sim, Endpoint: "https://" + l.Addr().String(), ended: make(chan error, 1)}
	if s.Root, err = pve.New(pve.Config{Endpoints: []string{s.Endpoint}, TLS: pve.TLS{CA: ca}, Credentials: pve.Password("root@pam", "proxplane")}); err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() {
		s.ended <- sim.Serve(ctx, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}), "")
	}()
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() error {
	s.cancel()
	err := <-s.ended
	s.Sim.Close()
	return err
}

// Call makes a call as somebody else, and waits for its task.
func (s *Server) Call(ctx context.Context, method, path string, params pve.Params) error {
	var out any
	if err := s.Root.Call(ctx, method, path, params, &out); err != nil {
		return err
	}
	text, _ := out.(string)
	if upid, err := pve.ParseUPID(text); err == nil { // else it is done already
		_, err := s.Root.Task(upid).Wait(ctx)
		return err
	}
	return nil
}

// Touch makes a call about a machine, by the part of the path behind its own.
func (s *Server) Touch(ctx context.Context, name, method, path string, params pve.Params) error {
	at := ""
	s.Do(func(st *pvesim.State) {
		if vm := VM(st, name); vm != nil {
			at = fmt.Sprintf("/nodes/%s/qemu/%d", vm.Node, vm.ID)
		}
	})
	if at == "" {
		return fmt.Errorf("there is no VM %s", name)
	}
	return s.Call(ctx, method, at+path, params)
}

// Settle lets the lists show what is there now.
func (s *Server) Settle() { s.Advance(StatusRound) }

// Provider is the manifest of a Provider with its Secret, as the documentation shows
// them.
func (s *Server) Provider(name, secret string) string {
	return fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata:
  name: %s
spec:
  type: proxmox
  endpoint: %s
  credentialSecretRef:
    name: %[3]s
---
apiVersion: v1
kind: Secret
metadata:
  name: %[3]s
type: Opaque
stringData:
  token_id: %[4]s
  token_secret: %[5]s
  ca.crt: |
    %[6]s
`, name, s.Endpoint, secret, TokenID, TokenSecret, strings.ReplaceAll(strings.TrimSpace(string(CA())), "\n", "\n    "))
}

// certificate is that of all servers here: making one takes time.
var certificate = sync.OnceValues(func() (tls.Certificate, []byte) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS()
	defer s.Close()
	return s.TLS.Certificates[0], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
})

// CA is the certificate to trust.
func CA() []byte {
	_, ca := certificate()
	return ca
}

// internet has an image at any URL, but for those that say what is wrong with them.
type internet struct{}

func (internet) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "missing") {
		return pvesim.BootableImages{}.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusNotFound, Status: "404 Not Found", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// ImageSum is the checksum of the image in SHA-256.
func ImageSum() string {
	sum := sha256.Sum256(pvesim.BootableImage())
	return hex.EncodeToString(sum[:])
}

// VM finds a machine by its name or VMID; nil: there is none.
func VM(st *pvesim.State, name string) *pvesim.VM {
	for id, vm := range st.VMs {
		if vm.Name() == name || fmt.Sprint(id) == name {
			return vm
		}
	}
	return nil
}
