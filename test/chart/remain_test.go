package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// former is the chart as of a version whose custom resources knew less.
func former(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	output(t, exec.CommandContext(t.Context(), "cp", "-rL", chart, dir))
	crd := filepath.Join(dir, "files", "crds", "infra.virtrigaud.io_vmclasses.yaml")
	text, err := os.ReadFile(crd)
	if err != nil || !strings.Contains(string(text), "maxCPUs is less than cpus") {
		t.Fatalf("%v:\n%s", err, text)
	}
	if err := os.WriteFile(crd, []byte(strings.ReplaceAll(string(text), "maxCPUs is less than cpus", "no")), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Objects outlive the operator: an upgrade brings new custom resources along and leaves
// objects as they are, and what is uninstalled can be installed again, also by another
// name.
func TestObjectsStayWhileTheChartComesAndGoes(t *testing.T) {
	helm, plane := program(t, "helm"), start(t)
	do := func(args ...string) string {
		t.Helper()
		return output(t, helmCommand(t.Context(), helm, plane, append(args, "-n", "proxplane")...))
	}
	kubectl := func(args ...string) string {
		t.Helper()
		return output(t, plane.Kubectl(t.Context(), args...))
	}
	do("install", "pp", former(t), "--create-namespace")
	apply := plane.Kubectl(t.Context(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata: {name: small, finalizers: [infra.virtrigaud.io/proxplane]}\nspec: {cpus: 2, memory: 4Gi}\n")
	output(t, apply)
	uid := kubectl("get", "vmclass", "small", "-o", "jsonpath={.metadata.uid}")

	do("upgrade", "pp", chart, "--set", "log.level=debug")
	if rules := kubectl("get", "crd", "vmclasses.infra.virtrigaud.io", "-o", "jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations}"); !strings.Contains(rules, "maxCPUs is less than cpus") {
		t.Errorf("the rules are %s", rules)
	}
	do("uninstall", "pp")
	if left := kubectl("get", "deployment,serviceaccount,clusterrole", "-n", "proxplane", "-l", "app.kubernetes.io/name=proxplane", "-o", "name"); left != "" {
		t.Errorf("there is still %s", left)
	}
	do("install", "pp", chart)
	do("uninstall", "pp")
	do("install", "other", chart, "--set", "crds.install=false")
	if now := kubectl("get", "vmclass", "small", "-o", "jsonpath={.metadata.uid}"); now != uid {
		t.Errorf("the object was %s, and is %s", uid, now)
	}
}
