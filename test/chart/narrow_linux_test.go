package chart

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/test/kit/controlplane"
)

// The operator runs with Secrets of one namespace only, and with metrics for those who
// may read them.
func TestTheOperatorWorksWithNarrowRights(t *testing.T) {
	plane, server := start(t), simulate(t)
	output(t, plane.Kubectl(t.Context(), "create", "namespace", "lab"))
	output(t, helmCommand(t.Context(), program(t, "helm"), plane, "install", "pp", chart, "-n", "proxplane", "--create-namespace", "--set", "rbac.secretNamespaces={lab},metrics.secure=true"))
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	newPod(t, plane).operate(t, plane, fmt.Sprintf("--metrics-address=127.0.0.1:%d", ports[0]))
	kubectl := func(namespace, input string, args ...string) string {
		t.Helper()
		cmd := plane.Kubectl(t.Context(), append([]string{"-n", namespace}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		return output(t, cmd)
	}
	kubectl("", "", "create", "namespace", "other")
	for _, namespace := range []string{"other", "lab"} {
		kubectl(namespace, server.Provider("proxmox", "login")+smallUbuntu+fmt.Sprintf(plain, "web-1"), "apply", "-f", "-")
	}
	kubectl("lab", "", "wait", "--for=condition=Ready", "vm/web-1", "--timeout", patience.String())
	kubectl("other", "", "wait", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Invalid`, "provider/proxmox", "--timeout", patience.String())
	kubectl("other", "", "wait", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=ProviderNotReady`, "vm/web-1", "--timeout", patience.String())
	for _, object := range []string{"provider/proxmox", "vm/web-1"} {
		if told := kubectl("other", "", "get", object, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`); !strings.Contains(told, "the operator may not read Secrets in namespace other") {
			t.Errorf("%s says %q", object, told)
		}
	}

	kubectl("lab", "", "create", "serviceaccount", "prometheus")
	kubectl("lab", "", "create", "serviceaccount", "somebody")
	kubectl("", "", "create", "clusterrolebinding", "prometheus", "--clusterrole=pp-proxplane-proxplane-metrics-reader", "--serviceaccount=lab:prometheus")
	token := func(account string) string { return strings.TrimSpace(kubectl("lab", "", "create", "token", account)) }
	for _, c := range []struct {
		reason, token string
		want          int
	}{
		{"nobody", "", http.StatusUnauthorized},
		{"with a token that isn't one", "x", http.StatusUnauthorized},
		{"somebody without the right", token("somebody"), http.StatusForbidden},
		{"Prometheus", token("prometheus"), http.StatusOK},
	} {
		code, text := scrape(t, ports[0], c.token)
		if code != c.want || code != http.StatusOK && strings.Contains(text, "proxplane_") {
			t.Errorf("%s: %d, want %d: %.200s", c.reason, code, c.want, text)
		}
		if code == http.StatusOK && !strings.Contains(text, `proxplane_objects{kind="VirtualMachine",object_namespace="lab",state="ready"} 1`) {
			t.Errorf("the metrics are %s", text)
		}
	}
	nothingIsRefused(t, plane)
}

// scrape reads the metrics, as Prometheus does.
func scrape(t *testing.T, port int, token string) (code int, text string) {
	t.Helper()
	hc := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := hc.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
