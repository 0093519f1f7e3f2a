package userdata_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/machines/userdata"
	"github.com/proxplane/proxplane/test/kit/golden"
	"github.com/proxplane/proxplane/test/kit/need"
)

const token = "abcdef.0123456789abcdef" //nolint:gosec // of nobody

func config(os string) userdata.Config {
	return userdata.Config{
		OS: os, Name: "md-1", Kubelet: "1.34.2", Kubeconfig: []byte("apiVersion: v1\nkind: Config\nusers: [{name: kubelet-bootstrap, user: {token: " + token + "}}]\n"),
		CA: []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), ProviderID: "kubermatic://proxmox/uid-1",
		SSHKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGNvbW1lbnQgb25seSwgbm8ga2V5IGF0IGFsbC4uLi4= me"},
	}
}

// rendered are user-data by name.
func rendered(t *testing.T) map[string]userdata.Made {
	t.Helper()
	all := map[string]userdata.Config{}
	for _, os := range []string{"ubuntu", "debian", "rockylinux", "rhel", "flatcar"} {
		all[os] = config(os)
	}
	old := config("ubuntu")
	old.Kubelet, old.DistUpgradeOnBoot, old.DisableAutoUpdate = "v1.22.5", true, true
	old.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	all["ubuntu-1.22"] = old
	sub := config("rhel")
	sub.Subscription = &userdata.Subscription{Organization: "12345", ActivationKey: "key", Attach: true}
	sub.SSHUserCA = "ssh-ed25519 AAAA ca"
	sub.Taints = old.Taints
	all["rhel-subscribed"] = sub
	fixed := config("flatcar")
	fixed.DisableAutoUpdate = true
	all["flatcar-fixed"] = fixed
	made := map[string]userdata.Made{}
	for name, c := range all {
		m, err := userdata.Make(c)
		if err != nil {
			t.Fatal(name, err)
		}
		made[name] = m
	}
	return made
}

func TestUserDataIsAsAsked(t *testing.T) {
	for name, m := range rendered(t) {
		text := m.Text
		if !m.Ignition {
			text = withoutScript(t, text)
		}
		golden.Compare(t, name+map[bool]string{true: ".ign", false: ".yaml"}[m.Ignition], text)
	}
}

// withoutScript leaves out the script, which is a file of its own.
func withoutScript(t *testing.T, text string) string {
	t.Helper()
	var c map[string]any
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	for _, f := range c["write_files"].([]any) {
		if one := f.(map[string]any); one["path"] == "/opt/proxplane/node-setup" {
			one["content"] = "(the script)"
		}
	}
	b, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCloudInitTakesTheUserData(t *testing.T) {
	program := need.Program(t, "cloud-init")
	for name, m := range rendered(t) {
		if m.Ignition {
			continue
		}
		file := filepath.Join(t.TempDir(), "user-data")
		if err := os.WriteFile(file, []byte(m.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.CommandContext(t.Context(), program, "schema", "--config-file", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}

func TestIgnitionTakesTheUserData(t *testing.T) {
	for name, m := range rendered(t) {
		if !m.Ignition {
			continue
		}
		if _, report, err := ignition.Parse([]byte(m.Text)); err != nil || len(report.Entries) > 0 {
			t.Errorf("%s: %v %s", name, err, report.String())
		}
	}
}

func TestShellcheckHasNothingToSayAboutTheScript(t *testing.T) {
	program := need.Program(t, "shellcheck")
	for name, m := range rendered(t) {
		if m.Ignition {
			continue
		}
		file := filepath.Join(t.TempDir(), "node-setup.sh")
		if err := os.WriteFile(file, []byte(files(t, m.Text)["/opt/proxplane/node-setup"].content), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.CommandContext(t.Context(), program, file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}

type written struct{ content, mode string }

func files(t *testing.T, text string) map[string]written {
	t.Helper()
	var c struct {
		Files []struct{ Path, Content, Permissions string } `yaml:"write_files"`
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	all := map[string]written{}
	for _, f := range c.Files {
		all[f.Path] = written{f.Content, f.Permissions}
	}
	return all
}

func TestTheTokenIsOnlyWhereItBelongs(t *testing.T) {
	for name, m := range rendered(t) {
		if m.Ignition {
			continue
		}
		for path, f := range files(t, m.Text) {
			if strings.Contains(f.content, token) && (path != "/etc/kubernetes/bootstrap-kubelet.conf" || f.mode != "0600") {
				t.Errorf("%s: %s (%s) has the token", name, path, f.mode)
			}
		}
	}
}

func TestOldKubeletsGetFlagsInsteadOfFields(t *testing.T) {
	all := rendered(t)
	old, now := files(t, all["ubuntu-1.22"].Text), files(t, all["rhel-subscribed"].Text)
	const unit, conf = "/etc/systemd/system/kubelet.service", "/var/lib/kubelet/config.yaml"
	for _, flag := range []string{"--container-runtime=remote", "--container-runtime-endpoint=", "--register-with-taints=gpu=yes:NoSchedule"} {
		if !strings.Contains(old[unit].content, flag) || strings.Contains(now[unit].content, flag) {
			t.Errorf("%s: 1.22 has %v, 1.34 has %v", flag, strings.Contains(old[unit].content, flag), strings.Contains(now[unit].content, flag))
		}
	}
	for _, field := range []string{"containerRuntimeEndpoint", "registerWithTaints"} {
		if strings.Contains(old[conf].content, field) || !strings.Contains(now[conf].content, field) {
			t.Errorf("%s: 1.22 has %v, 1.34 has %v", field, strings.Contains(old[conf].content, field), strings.Contains(now[conf].content, field))
		}
	}
}

// The versions of what a machine downloads go with its kubelet. Kubernetes publishes no build metadata, which API servers of RKE2 and k3s have.
func TestWhatIsDownloadedGoesWithTheKubelet(t *testing.T) {
	for kubelet, want := range map[string][]string{
		"v1.22.5":        {`kubelet="v1.22.5"`, "/containerd-1.7.27-"},
		"1.23.0":         {`kubelet="v1.23.0"`, "/containerd-2.1.4-"},
		"v1.34.2+rke2r1": {`kubelet="v1.34.2"`, "/containerd-2.1.4-"},
		"1.35.0-rc.1":    {`kubelet="v1.35.0-rc.1"`, "/containerd-2.1.4-"},
	} {
		c := config("rockylinux")
		c.Kubelet = kubelet
		m, err := userdata.Make(c)
		if err != nil {
			t.Fatal(err)
		}
		script := files(t, m.Text)["/opt/proxplane/node-setup"].content
		for _, text := range want {
			if !strings.Contains(script, text) {
				t.Errorf("%s: the script hasn't %s", kubelet, text)
			}
		}
	}
}

func TestAVersionThatIsNoneIsRefused(t *testing.T) {
	for _, text := range []string{"", "latest", "1.34", "1.x.2"} {
		c := config("ubuntu")
		c.Kubelet = text
		if _, err := userdata.Make(c); err == nil || !strings.Contains(err.Error(), "versions.kubelet: want a version such as") {
			t.Errorf("%q: %v", text, err)
		}
	}
	var any json.RawMessage
	m, err := userdata.Make(config("flatcar"))
	if err != nil || json.Unmarshal([]byte(m.Text), &any) != nil {
		t.Error("flatcar gets no JSON", err)
	}
}
