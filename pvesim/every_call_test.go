package pvesim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// stranger makes any call of the API with parameters that are often right.
type stranger struct {
	sim   *Sim
	rand  *rand.Rand
	serve http.Handler
	upids []string
}

func (s *stranger) pick(from ...string) string { return from[s.rand.IntN(len(from))] }

// usual are values of parameters that mean something here.
var usual = map[string][]string{
	"node":        {"pve1", "pve1", "pve1", "pve2", "pve3", "localhost", "nope"},
	"target":      {"pve2", "pve1", "pve3", "nope"},
	"vmid":        {"100", "101", "102", "103", "999"},
	"newid":       {"103", "104", "100"},
	"target-vmid": {"101", "102", "999"},
	"vms":         {"100", "101,102"},
	"storage":     {"local", "thin", "isos", "nope", "share"},
	"disk":        {"scsi0", "scsi1", "ide2", "unused0", "efidisk0"},
	"target-disk": {"scsi2", "unused1"},
	"snapname":    {"one", "two", "current"},
	"volume":      {"local:iso/tiny.iso", "iso/tiny.iso", "thin:vm-100-disk-0", "local:100/vm-100-disk-0.qcow2", "x"},
	"userid":      {"ann@pve", "root@pam", "nobody@pve"},
	"tokenid":     {"main", "other"},
	"groupid":     {"staff"},
	"roleid":      {"Made", "PVEAdmin"},
	"poolid":      {"team", "pool/sub"},
	"sid":         {"vm:100", "101", "ct:100", "vm:999"},
	"path":        {"/", "/vms/100", "/nope", "/srv"},
	"delete":      {"scsi0", "net0,tags", "comment", "bogus"},
	"digest":      {"00"},
	"scsi0":       {"thin:1", "local:1,format=qcow2", "none", "local:iso/tiny.iso,media=cdrom", "thin:vm-100-disk-0", "local:0,import-from=local:import/disk.qcow2"},
	"ide2":        {"local:cloudinit", "local:iso/tiny.iso,media=cdrom", "none,media=cdrom"},
	"net0":        {"virtio,bridge=vmbr0", "e1000=02:00:00:00:00:01", "bridge=vmbr0"},
	"size":        {"+1G", "2G", "1", "x"},
	"memory":      {"16", "512", "999999999"},
	"hotplug":     {"1", "0", "cpu,memory,disk"},
	"boot":        {"order=scsi0", "order=scsi9", "cdn"},
	"command":     {"ls", "ping", "/bin/true"},
	"iface":       {"vmbr0", "vmbr9", "vmbr0.5"},
	"name":        {"alias1", "set1", "vm-name"},
	"cidr":        {"10.0.0.1/24", "alias1", "fe80::1"},
	"pos":         {"0", "1"},
	"group":       {"web", "db"},
	"rule":        {"r1", "r2"},
	"id":          {"share", "other"},
	"map":         {"node=pve1,path=/srv", "node=pve2,path=/nope"},
	"url":         {"http://127.0.0.1:1/x.iso"},
	"timeframe":   {"hour"},
}

// value invents a value for a parameter.
func (s *stranger) value(name string, p *schema.Param) string {
	if name == "upid" && len(s.upids) > 0 && s.rand.IntN(4) > 0 {
		return s.pick(s.upids...)
	}
	if list := usual[name]; list != nil && s.rand.IntN(8) > 0 {
		return s.pick(list...)
	}
	switch {
	case len(p.Enum) > 0 && s.rand.IntN(8) > 0:
		return s.pick(p.Enum...)
	case p.Type == "boolean":
		return s.pick("0", "1")
	case p.Type == "integer" || p.Type == "number":
		return s.pick("0", "1", "5", "100")
	}
	return s.pick("x", "one", "a1", "local:1", "1G", "a=b", "", "ä\n", "-1", "virtio,bridge=vmbr0")
}

// call makes a call with all that it needs and some of what it may have.
func (s *stranger) call(ep *schema.Endpoint) (request string, status int, body string) {
	path, form := ep.Path, url.Values{}
	for _, name := range sortedKeys(ep.Params) {
		p := ep.Params[name]
		name = strings.Replace(name, "[n]", s.pick("0", "0", "1", "2"), 1)
		place := "{" + name + "}"
		switch {
		case strings.Contains(path, place):
			path = strings.ReplaceAll(path, place, url.PathEscape(s.value(name, p)))
		case !p.Optional || s.rand.IntN(6) == 0:
			form.Set(name, s.value(name, p))
		}
	}
	target, payload := "/api2/json"+path, ""
	if ep.Method == http.MethodGet || ep.Method == http.MethodDelete {
		target += "?" + form.Encode()
	} else {
		payload = form.Encode()
	}
	req := httptest.NewRequest(ep.Method, target, strings.NewReader(payload))
	req.Header.Set("Authorization", "PVEAPIToken=root@pam!all=all")
	if payload != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	rec := httptest.NewRecorder()
	s.serve.ServeHTTP(rec, req)
	body = rec.Body.String()
	if upid, ok := strings.CutPrefix(body, `{"data":"UPID:`); ok {
		s.upids = append(s.upids, "UPID:"+strings.TrimSuffix(strings.TrimSpace(upid), `"}`))
	}
	return ep.Method + " " + target + " " + payload, rec.Code, body
}

// TestEveryCallIsAnswered makes all calls of both releases, in any order and
// with all kinds of parameters: whatever comes, there is an answer, and every
// task ends.
func TestEveryCallIsAnswered(t *testing.T) {
	known := []int{200, 400, 401, 403, 404, 500, 501, 595, 596}
	for _, release := range schema.Releases() {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", release, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sim, err := New(town(release))
					if err != nil {
						t.Fatal(err)
					}
					defer sim.Close()
					sim.Do(func(st *State) {
						st.Access.Users["root@pam"].Tokens = map[string]*access.Token{"all": {Secret: "all"}}
					})
					s := &stranger{sim: sim, rand: rand.New(rand.NewPCG(seed, 1)), serve: sim.Handler()}
					endpoints := sim.schema.Endpoints()
					for range 2500 {
						ep := endpoints[s.rand.IntN(len(endpoints))]
						if s.rand.IntN(2) == 0 { // most of what is simulated is here
							for !strings.HasPrefix(ep.Path, "/nodes/{node}/qemu") {
								ep = endpoints[s.rand.IntN(len(endpoints))]
							}
						}
						request, status, body := s.call(ep)
						if !slices.Contains(known, status) {
							t.Errorf("%s: %d %s", request, status, body)
						}
						time.Sleep(time.Duration(s.rand.IntN(3000)) * time.Millisecond)
					}
					time.Sleep(24 * time.Hour)
					synctest.Wait()
					sim.mu.Lock()
					defer sim.mu.Unlock()
					for upid := range sim.running {
						t.Errorf("%s still runs", upid)
					}
					if len(sim.locks) > 0 {
						t.Errorf("locks are left: %v", sortedKeys(sim.locks))
					}
				})
			})
		}
	}
}

// FuzzNoRequestBringsItDown sends anything at all.
func FuzzNoRequestBringsItDown(f *testing.F) {
	f.Add("GET", "/api2/json/nodes/pve1/qemu/100/config?current=1", "", "")
	f.Add("POST", "/api2/json/nodes/pve1/qemu", "application/x-www-form-urlencoded", "vmid=100&scsi0=thin:1;net0=virtio%2Cbridge=vmbr0")
	f.Add("PUT", "/api2/extjs/nodes/pve1/qemu/100/config", "application/json", `{"memory": 512, "delete": ["name"], "onboot": true}`)
	f.Add("POST", "/api2/json/nodes/pve1/storage/local/upload", "multipart/form-data; boundary=XX", string(form("XX", "a.iso", []byte("data"), "content", "iso")))
	f.Add("DELETE", "//api2//json/nodes/pve1/storage/local/content/local:iso%2Ftiny.iso", "text/plain", "x")
	f.Add("POST", "/sim/faults", "", `{"path": "/**", "probability": 0.5, "status": 596}`)
	w := labWorld("9.2")
	w.Users[0].Tokens = []WorldToken{{Name: "all", Secret: "all"}}
	sim, err := New(w)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { sim.Close() })
	serve := sim.Handler()
	f.Fuzz(func(t *testing.T, method, target, ctype, body string) {
		req, err := http.NewRequest(method, "http://pve"+target, strings.NewReader(body))
		if err != nil || !strings.HasPrefix(target, "/") {
			t.SkipNow()
		}
		if strings.HasPrefix(req.URL.Path, "/sim/clock") {
			t.SkipNow() // it may go forward by centuries
		}
		req.Header.Set("Authorization", "PVEAPIToken=root@pam!all=all")
		req.Header.Set("Content-Type", ctype)
		defer func() {
			if p := recover(); p != nil && p != any(http.ErrAbortHandler) {
				panic(p)
			}
		}()
		serve.ServeHTTP(httptest.NewRecorder(), req)
	})
}
