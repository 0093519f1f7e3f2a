package operator_test

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

func TestProxmoxIsAwayAndComesBack(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web", "provider/proxmox")
	id, err := s.pve.AddFault(pvesim.Fault{Path: "**", Drop: "before"})
	if err != nil {
		t.Fatal(err)
	}
	s.waitFor("--for=condition=Degraded", "provider/proxmox")
	s.waits("provider/proxmox", "Proxmox can't be reached")
	s.until("it is told", func() bool {
		return strings.Contains(s.kubectl("events", "--for", "provider/proxmox"), "Proxmox can't be reached")
	})
	s.apply(machine("late"))
	s.waits("vm/late", "Proxmox can't be reached")
	if ready := s.field("vm/web", `.status.conditions[?(@.type=="Ready")].status`); ready != "True" {
		t.Errorf("what was ready when it was seen last is %s", ready)
	}
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.waits("vm/web", "Proxmox can't be reached.*virtrigaud.io/force-delete=true")
	s.pve.RemoveFault(id)
	s.waitFor("--for=condition=Ready", "vm/late", "provider/proxmox")
	s.waitFor("--for=delete", "vm/web")
	if s.machines() != "late" {
		t.Errorf("there is %q", s.machines())
	}
}

func (s *story) login(id, secret string) {
	s.t.Helper()
	s.kubectl("patch", "secret", "pve-credentials", "--type=merge", "-p", fmt.Sprintf(`{"stringData":{"token_id":%q,"token_secret":%q}}`, id, secret))
}

// The steps of the page about rotating tokens, without restarting anything.
func TestALoginIsRotatedWithoutARestart(t *testing.T) {
	t.Parallel()
	s := begin(t)
	operator := s.operate("--alone", "--log-level", "info")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")

	s.login("me@pve!laptop", "00000000-0000-0000-0000-000000000000")
	s.waits("provider/proxmox", "the new connection doesn't work, so the former one stays in use")
	s.apply(machine("meanwhile"))
	s.waitFor("--for=condition=Ready", "vm/meanwhile") // with the former login

	var token struct {
		Value string `json:"value"`
	}
	if err := s.pve.Root.Call(t.Context(), "POST", "/access/users/me@pve/token/second", pve.Params{"privsep": "0"}, &token); err != nil {
		t.Fatal(err)
	}
	s.login("me@pve!second", token.Value)
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	s.until("the new login is in use", func() bool { return strings.Contains(operator.Log(), "new credentials are in use") })
	if err := s.pve.Root.Call(t.Context(), "DELETE", "/access/users/me@pve/token/laptop", nil, nil); err != nil {
		t.Fatal(err)
	}
	s.apply(machine("after"))
	s.waitFor("--for=condition=Ready", "vm/after", "provider/proxmox")
	if log := operator.Log(); strings.Contains(log, token.Value) || strings.Contains(log, sim.TokenSecret) {
		t.Error("the log has a secret")
	}
}

func TestAProviderThatIsBrokenKeepsNobodyElseBack(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	nowhere := strings.NewReplacer("name: proxmox", "name: nowhere", s.pve.Endpoint, "https://127.0.0.1:9").Replace(s.pve.Provider("proxmox", "pve-credentials"))
	s.apply(nowhere)
	s.apply(machine("here", "providerRef: {name: proxmox}"))
	s.apply(machine("there", "providerRef: {name: nowhere}"))
	s.waitFor("--for=condition=Ready", "vm/here", "provider/proxmox")
	s.waits("vm/there", "Proxmox can't be reached")
	s.waits("provider/nowhere", "connection refused")
	s.apply(machine("lost", "providerRef: {name: missing}"))
	s.waits("vm/lost", "there is no Provider missing in namespace")
	s.apply(machine("vague"))
	s.waits("vm/vague", "there are several Providers, ")
	// What was never made can go, wherever it was to be.
	s.kubectl("delete", "vm", "there", "lost", "vague", "--timeout", patience.String())
	s.kubectl("delete", "provider", "nowhere", "--timeout", patience.String())
}

// One that takes connections and says nothing is the worst: whoever asks it waits.
func TestAProviderThatHangsKeepsNobodyElseBack(t *testing.T) {
	t.Parallel()
	s := begin(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s.operate("--alone")
	s.provide()
	s.apply(strings.NewReplacer("name: proxmox", "name: silent", s.pve.Endpoint, "https://"+l.Addr().String()).Replace(s.pve.Provider("proxmox", "pve-credentials")))
	s.apply(machine("there", "providerRef: {name: silent}"))
	s.waits("provider/silent", "Proxmox hasn't answered yet|Proxmox can't be reached")
	s.apply(machine("here", "providerRef: {name: proxmox}"))
	s.waitFor("--for=condition=Ready", "vm/here")
	// It goes without having to answer, and nobody waits for that either.
	s.kubectl("annotate", "provider", "silent", "virtrigaud.io/force-delete=true")
	s.kubectl("delete", "provider", "silent", "--timeout", patience.String())
	s.apply(machine("later", "providerRef: {name: proxmox}"))
	s.waitFor("--for=condition=Ready", "vm/later")
	s.waits("vm/there", "there is no Provider silent")
}

func TestAProviderMovesToAnotherAddress(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", `{"spec":{"endpoint":"https://127.0.0.1:9"}}`)
	s.waits("provider/proxmox", "so the former one stays in use: .*connection refused")
	// One that takes connections and says nothing isn't taken for good.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q}}`, s.pve.Endpoint))
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":"https://%s"}}`, l.Addr()))
	s.waits("provider/proxmox", "is being tried|the former (connection goes on|one stays in use)")
	s.apply(machine("meanwhile"))
	s.waitFor("--for=condition=Ready", "vm/meanwhile")
	s.kubectl("delete", "vm", "meanwhile", "--timeout", patience.String())
	host := strings.Replace(s.pve.Endpoint, "127.0.0.1", "localhost", 1)
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q,"endpoints":[%q]}}`, s.pve.Endpoint, host))
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	if s.machines() != "" {
		t.Errorf("there is %q", s.machines())
	}
}

// What is measured is told to Prometheus, by Provider.
func TestMetricsTellWhatIsGoingOn(t *testing.T) {
	t.Parallel()
	s := begin(t)
	at := freeAddresses(t, 1)[0]
	s.operate("--alone", "--metrics-address", at)
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web", "provider/proxmox")
	provider := fmt.Sprintf(`provider="%s/proxmox"`, s.namespace)
	for _, want := range []string{
		`proxplane_provider_up{` + provider + `} 1`,
		`proxplane_machines{` + provider + `,state="running"} 1`,
		`proxplane_steps_total{action="Clone",` + provider + `,result="done"} 1`,
		`proxplane_task_duration_seconds_count{action="Clone",` + provider + `} 1`,
		`proxplane_time_to_ready_seconds_count{kind="VirtualMachine"} 1`,
		`proxplane_proxmox_requests_total{method="POST",` + provider + `,result="ok",route="/nodes/{node}/qemu/{vmid}/clone"} 1`,
		`proxplane_observer_age_seconds{` + provider + `}`,
		`proxplane_admission_waiting{class="write",`,
	} {
		s.until(want, func() bool { return strings.Contains(get(t, "http://"+at+"/metrics"), want) })
	}
}

// What Proxmox can stand is a matter of Proxmox, whichever Provider asks.
func TestProvidersForOneProxmoxShareItsLoad(t *testing.T) {
	t.Parallel()
	s := begin(t)
	at := freeAddresses(t, 1)[0]
	s.operate("--alone", "--metrics-address", at)
	for _, name := range []string{"east", "west"} {
		s.apply(s.pve.Provider(name, name+"-login"))
		s.apply(machine("in-"+name, "providerRef: {name: "+name+"}"))
	}
	s.waitFor("--for=condition=Ready", "vm/in-east", "vm/in-west")
	bounds := func(provider string) int {
		return len(regexp.MustCompile(`(?m)^proxplane_admission_limit\{.*provider="`+s.namespace+"/"+provider+`"`).FindAllString(get(t, "http://"+at+"/metrics"), -1))
	}
	if bounds("east") == 0 || bounds("west") != 0 {
		t.Errorf("the bounds are counted %d times for one Provider, and %d times for the other", bounds("east"), bounds("west"))
	}
	// With the same login they share all that asks Proxmox, until the last of them is gone.
	lists := func(provider string) bool {
		return strings.Contains(get(t, "http://"+at+"/metrics"), `proxplane_proxmox_requests_total{method="GET",provider="`+s.namespace+"/"+provider+`",result="ok",route="/cluster/resources"}`)
	}
	if lists("east") == lists("west") {
		t.Errorf("both Providers ask for the lists: %v, %v", lists("east"), lists("west"))
	}
	s.kubectl("delete", "vm/in-east", "provider/east", "--timeout", patience.String())
	s.apply(machine("later", "providerRef: {name: west}"))
	s.waitFor("--for=condition=Ready", "vm/later", "vm/in-west", "provider/west")
}

// What was wrong with the certificate is told while it is wrong, and no longer.
func TestATrustedCertificateEndsTheTrouble(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.operate("--alone")
	trusted := s.pve.Provider("proxmox", "pve-credentials")
	untrusted, _, _ := strings.Cut(trusted, "  ca.crt: |")
	s.apply(untrusted)
	s.apply(machine("web"))
	s.waits("provider/proxmox", "certificate")
	s.waits("vm/web", "certificate")
	s.apply(trusted)
	s.waitFor("--for=condition=Ready", "provider/proxmox", "vm/web")
	for _, object := range []string{"provider/proxmox", "vm/web", "vmimage/ubuntu", "vmclass/small"} {
		if text := s.field(object, ".status"); strings.Contains(text, "certificate") || s.field(object, ".status.waiting") != "" {
			t.Errorf("%s still says %s", object, text)
		}
	}
}
