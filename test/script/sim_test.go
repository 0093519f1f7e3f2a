package script_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// site is the simulated Proxmox of one story.
type site struct {
	release string
	sim     *pvesim.Sim
	root    *pve.Client // somebody else, with a browser
	all     []cluster   // those that were started, in their order
	locked  int         // how many lists had been asked for when a VM was locked last
}

// cluster is one of several.
type cluster struct {
	sim  *pvesim.Sim
	root *pve.Client
}

type siteKey struct{}

// at is the story's Proxmox.
func at(ts *testscript.TestScript) *site {
	s := ts.Value(siteKey{}).(*site)
	if s.sim == nil {
		ts.Fatalf("there is no simulator; sim-start comes first")
	}
	return s
}

// quick makes everything take a fiftieth of the time that it takes in the default
// world, and lets agents answer at once: who asks too early waits for seconds.
func quick(w *pvesim.World) {
	times := reflect.ValueOf(&w.Timing).Elem()
	for i := range times.NumField() {
		times.Field(i).SetInt(times.Field(i).Int() / 50)
	}
	w.Timing.Boot, w.Timing.Agent = 0, 0
	w.Load = pvesim.Load{Workers: 3, StatusRound: pvesim.Duration(statusRound)}
}

// statusRound is how late the lists of the cluster are.
const statusRound = 200 * time.Millisecond

// settle lets the lists show what is there now.
func (s *site) settle() { s.sim.Advance(statusRound) }

// certificate is that of all simulators here: making one takes time.
var certificate = sync.OnceValues(func() (tls.Certificate, []byte) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS()
	defer s.Close()
	return s.TLS.Certificates[0], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
})

// simStart [YAML] starts a Proxmox, and lets the environment point at it. It is the
// default world with me@pve, an administrator unless the world has rules of its own;
// the YAML says what is different.
func simStart(ts *testscript.TestScript, neg bool, args []string) {
	w := pvesim.DefaultWorld()
	quick(w)
	here := ts.Value(siteKey{}).(*site)
	w.Release = here.release
	for _, a := range args {
		ts.Check(yaml.UnmarshalStrict([]byte(a), w))
	}
	const secret = "c0ffee00-0000-4000-8000-000000000000"
	w.Users = append(w.Users, pvesim.WorldUser{ID: "me@pve", Tokens: []pvesim.WorldToken{{Name: "laptop", Secret: secret}}})
	if len(w.ACL) == 0 {
		w.ACL = append(w.ACL, pvesim.WorldACL{Path: "/", Role: "Administrator", User: "me@pve"})
	}
	sim, err := pvesim.New(w, pvesim.WithInternet(internet{}))
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	cert, ca := certificate()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- sim.Serve(ctx, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}), "")
	}()
	ts.Defer(func() {
		cancel()
		if err := <-ended; err != nil {
			ts.Logf("simulator: %v", err)
		}
		sim.Close()
	})
	endpoint := "https://" + l.Addr().String()
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), ca, 0o600))
	ts.Setenv("PVE_ENDPOINT", endpoint)
	ts.Setenv("PVE_CA_BUNDLE", ts.MkAbs("ca.pem"))
	ts.Setenv("PVE_TOKEN_ID", "me@pve!laptop")
	ts.Setenv("PVE_TOKEN_SECRET", secret)
	root, err := pve.New(pve.Config{Endpoints: []string{endpoint}, TLS: pve.TLS{CA: ca}, Credentials: pve.Password("root@pam", "proxplane")})
	ts.Check(err)
	here.sim, here.root = sim, root
	here.all = append(here.all, cluster{sim, root})
}

// simHide lets the simulator be reached without what only simulators have, as a real
// Proxmox.
func simHide(ts *testscript.TestScript, neg bool, args []string) {
	sim := at(ts).sim
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sim") {
			http.NotFound(w, r)
			return
		}
		sim.Handler().ServeHTTP(w, r)
	}))
	s.StartTLS()
	ts.Defer(s.Close)
	ts.Setenv("PVE_ENDPOINT", s.URL)
}

// simUse N has what follows look at the Nth of the Proxmoxes that were started.
func simUse(ts *testscript.TestScript, neg bool, args []string) {
	s := at(ts)
	var n int
	if _, err := fmt.Sscan(strings.Join(args, " "), &n); err != nil || n < 1 || n > len(s.all) {
		ts.Fatalf("usage: sim-use N, from 1 to %d", len(s.all))
	}
	s.sim, s.root = s.all[n-1].sim, s.all[n-1].root
}

// secretWithLogin FILE [NAME] writes a Provider with its Secret, for the simulator, as
// the documentation shows them.
func secretWithLogin(ts *testscript.TestScript, neg bool, args []string) {
	_, ca := certificate()
	provider, secret := "proxmox-prod", "pve-credentials"
	if len(args) > 1 {
		provider, secret = args[1], args[1]+"-credentials"
	}
	text := fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
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
`, provider, ts.Getenv("PVE_ENDPOINT"), secret, ts.Getenv("PVE_TOKEN_ID"), ts.Getenv("PVE_TOKEN_SECRET"), strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n    "))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// internet has an image at any URL, but for those that say what is wrong with them.
type internet struct{}

func (internet) RoundTrip(r *http.Request) (*http.Response, error) {
	res := &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r}
	image := pvesim.BootableImage()
	if strings.Contains(r.URL.Path, "missing") {
		res.StatusCode, res.Status, image = http.StatusNotFound, "404 Not Found", nil
	}
	res.ContentLength, res.Body = int64(len(image)), io.NopCloser(bytes.NewReader(image))
	return res, nil
}

func imageSum() string {
	sum := sha256.Sum256(pvesim.BootableImage())
	return hex.EncodeToString(sum[:])
}

// vmNamed finds a VM by its name or VMID; nil: there is none.
func vmNamed(st *pvesim.State, name string) *pvesim.VM {
	for id, vm := range st.VMs {
		if vm.Name() == name || fmt.Sprint(id) == name {
			return vm
		}
	}
	return nil
}
