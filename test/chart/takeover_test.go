package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who comes from karpenter-provider-proxmox has its definitions, which no release of Helm owns, and objects of these kinds: the command of docs/karpenter.md takes
// over the former, and leaves the latter as they are.
func TestTheDefinitionsOfTheOriginalAreTakenOver(t *testing.T) {
	helm, plane := program(t, "helm"), start(t)
	files, err := filepath.Glob("../../deploy/crds/karpenter/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		create := plane.Kubectl(t.Context(), "create", "-f", "-")
		create.Stdin = strings.NewReader(strings.ReplaceAll(string(text), "name the template by templateName, by tags, or by both", "at least one of templateName or tags must be specified"))
		output(t, create)
	}
	const kind = "proxmoxunmanagedtemplates.karpenter.proxmox.sinextra.dev"
	output(t, plane.Kubectl(t.Context(), "wait", "--for=condition=established", "crd/"+kind))
	apply := plane.Kubectl(t.Context(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader("apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1\nkind: ProxmoxUnmanagedTemplate\nmetadata: {name: default}\nspec: {templateName: talos}\n")
	output(t, apply)
	uid := output(t, plane.Kubectl(t.Context(), "get", kind, "default", "-o", "jsonpath={.metadata.uid}"))

	page, err := os.ReadFile("../../docs/karpenter.md")
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(page), "## From karpenter-provider-proxmox")
	_, command, _ = strings.Cut(command, "\nhelm install proxplane ")
	command, _, _ = strings.Cut(command, "\n```")
	args := strings.Fields(strings.ReplaceAll(command, "\\\n", " "))
	if len(args) < 2 || !strings.HasPrefix(args[0], "oci://") {
		t.Fatalf("the page has %q", args)
	}
	args[0] = chart
	output(t, helmCommand(t.Context(), helm, plane, append([]string{"install", "proxplane"}, args...)...))
	if rule := output(t, plane.Kubectl(t.Context(), "get", "crd", kind, "-o", "jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations}")); !strings.Contains(rule, "name the template by templateName") {
		t.Errorf("the definition is still the former one: %s", rule)
	}
	if now := output(t, plane.Kubectl(t.Context(), "get", kind, "default", "-o", "jsonpath={.metadata.uid}")); now != uid {
		t.Errorf("the object was %s, and is %s", uid, now)
	}
	if args := output(t, plane.Kubectl(t.Context(), "get", "deployment", "-n", "proxplane", "-o", "jsonpath={.items[0].spec.template.spec.containers[0].args}")); !strings.Contains(args, "kube-system/karpenter-provider-proxmox") {
		t.Errorf("the operator has the arguments %s", args)
	}
}
