package chart

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// hostile are objects whose text is small, and would become large or take long to read.
func hostile() map[string]string {
	var aliases strings.Builder
	aliases.WriteString("      a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&aliases, "      a%d: &a%[1]d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	return map[string]string{
		"variables": "  variables: {a: " + strings.Repeat("x", 20<<10) + "}\n  userData: {cloudInit: {inline: \"#cloud-config\\n" + strings.Repeat("${a}", 10_000) + "\"}}\n",
		"bracket":   "  count: 20\n  userData:\n    cloudInit:\n      inline: |\n        #cloud-config\n        key: [\n" + strings.Repeat("        - "+strings.Repeat("y", 60)+"\n", 600),
		"aliases":   "  metaData:\n    inline: |\n" + aliases.String(),
	}
}

const plain = `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: %s}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
`

const smallUbuntu = `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
`

// One namespace has objects that are meant to do harm. The operator tells what is wrong
// with them, looks at them again whenever they change, makes the machines of another
// namespace meanwhile, and never comes near the memory that the chart allows it. What is
// measured is the most that was ever resident, from /proc: a limit of the system would
// take a control group, which tests can't make everywhere.
func TestOneNamespaceCanNotStopTheOperatorForAll(t *testing.T) {
	plane, server := start(t), simulate(t)
	output(t, helmCommand(t.Context(), program(t, "helm"), plane, "install", "pp", chart, "-n", "proxplane", "--create-namespace"))
	p := newPod(t, plane)
	operator := p.operate(t, plane)
	kubectl := func(namespace, input string, args ...string) string {
		t.Helper()
		cmd := plane.Kubectl(t.Context(), append([]string{"-n", namespace}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		return output(t, cmd)
	}
	for _, namespace := range []string{"hostile", "calm"} {
		kubectl("", "", "create", "namespace", namespace)
		kubectl(namespace, server.Provider("proxmox", "login")+smallUbuntu, "apply", "-f", "-")
		kubectl(namespace, "", "wait", "--for=condition=Ready", "provider/proxmox", "--timeout", patience.String())
	}
	for name, text := range hostile() {
		kubectl("hostile", fmt.Sprintf(plain, name)+text, "create", "-f", "-")
	}
	for n := range 5 { // each is a reason to read all of them again
		kubectl("hostile", "", "label", "vm", "--all", "--overwrite", fmt.Sprintf("n=%d", n))
		name := fmt.Sprintf("web-%d", n)
		kubectl("calm", fmt.Sprintf(plain, name), "apply", "-f", "-")
		kubectl("calm", "", "wait", "--for=condition=Ready", "vm/"+name, "--timeout", patience.String())
	}
	for name := range hostile() {
		kubectl("hostile", "", "wait", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Invalid`, "vm/"+name, "--timeout", patience.String())
		t.Logf("%s: %s", name, kubectl("hostile", "", "get", "vm", name, "-o", "jsonpath={.status.waiting}"))
	}
	most, allowed := resident(t, operator.Process.Pid), p.memory()
	for _, size := range p.memoryVolumes(t) {
		allowed -= size // what is in them counts, too
	}
	t.Logf("at most %d MiB were resident; the chart allows %d MiB, %d beside its volumes in memory", most>>20, p.memory()>>20, allowed>>20)
	if most > allowed {
		t.Errorf("it takes more than it may: %d of %d MiB", most>>20, allowed>>20)
	}
}

// resident is the most of a process that ever was in memory, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("the kernel doesn't tell:\n%s", text)
	}
	size, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return size << 10
}
