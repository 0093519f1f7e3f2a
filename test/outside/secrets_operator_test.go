package outside_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// TestTheOperatorShowsNoSecret is the same story in Kubernetes: what the operator logs,
// what it measures, what its objects say and what its events tell.
func TestTheOperatorShowsNoSecret(t *testing.T) {
	t.Parallel()
	v := newVault(newLab(t))
	metrics := freeAddress(t)
	k := newKubernetes(v.lab, "--log-level", "debug", "--metrics-address", metrics)
	k.replicate(1)
	k.provide("{token_id: \"" + tokenID + "\", token_secret: " + tokenSecret + "}")
	k.kubectl(secretMachine, "apply", "-f", "-")
	k.kubectl(guestSecret, "apply", "-f", "-")
	k.ready("provider/proxmox", "vm/password", "vm/script")
	v.learnHashes()
	pages := k.shown(metrics)

	// Proxmox repeats the token, and then refuses it; a password takes its place.
	v.must(v.sim.Fault(v.ctx, pvesim.Fault{Method: "PUT", Path: "/nodes/*/qemu/*/config", Status: 500, Reason: "PVEAPIToken=" + tokenID + "=" + tokenSecret + " may not", Times: 3}))
	k.kubectl("", "patch", "vm", "password", "--type=merge", "-p", `{"spec":{"tags":["later"]}}`)
	k.nowAndThen("a step fails", func() bool {
		return strings.Contains(k.kubectl("", "get", "events", "-o", "yaml"), " may not")
	})
	pages += k.shown(metrics)
	v.must(v.sim.Heal(v.ctx))
	login := func(text string) {
		k.kubectl("", "patch", "secret", "login", "--type=merge", "-p", `{"data":null,"stringData":`+text+`}`)
	}
	login(fmt.Sprintf(`{"token_id":%q,"token_secret":%q}`, tokenID, wrongSecret))
	k.waits("provider/proxmox", "Rejected")
	login(fmt.Sprintf(`{"username":"me@pve","password":%q}`, wrongPassword))
	k.waits("provider/proxmox", "Rejected")
	pages += k.shown(metrics)
	k.kubectl("", "patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q,"fingerprint":%q}}`, v.spy.URL, v.spy.Fingerprint))
	login(fmt.Sprintf(`{"username":"me@pve","password":%q}`, userPassword))
	k.nowAndThen("a ticket is used", func() bool { return slices.Contains(v.Names(), "ticket") })
	k.kubectl("", "delete", "vm", "script")
	k.ready("provider/proxmox", "vm/password")
	pages += k.shown(metrics)

	v.silent("Kubernetes", pages)
	for i, p := range k.replicas {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid())); err == nil {
			v.silent("the arguments of the operator", string(line))
		}
		if said := p.Said(); !strings.Contains(said, "level=DEBUG") {
			t.Errorf("replica %d doesn't tell all: %s", i+1, said)
		}
		v.silent("the operator", p.Said())
	}
	v.nothingIsSeen()
}

// ready waits for objects to be Ready.
func (k *kubernetes) ready(objects ...string) {
	k.t.Helper()
	k.kubectl("", append([]string{"wait", "--for=condition=Ready", "--timeout", patience.String()}, objects...)...)
}

// waits waits until an object is waiting for a reason.
func (k *kubernetes) waits(object, reason string) {
	k.t.Helper()
	k.nowAndThen(object+" is "+reason, func() bool {
		return k.kubectl("", "get", object, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].reason}`) == reason
	})
}

// shown is all that people see in Kubernetes but Secrets, and the operator's metrics.
func (k *kubernetes) shown(metrics string) string {
	k.t.Helper()
	all := k.kubectl("", "get", "virtrigaud,events,leases,configmaps", "-A", "-o", "yaml") + k.kubectl("", "describe", "virtrigaud") + k.kubectl("", "get", "virtrigaud", "-o", "wide")
	req, err := http.NewRequestWithContext(k.ctx, http.MethodGet, "http://"+metrics+"/metrics", nil)
	k.must(err)
	res, err := http.DefaultClient.Do(req)
	k.must(err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	k.must(err)
	if !strings.Contains(string(page), "proxplane_proxmox_requests_total") {
		k.t.Errorf("the metrics are %.300s", page)
	}
	return all + string(page)
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
