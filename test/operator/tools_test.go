package operator_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/labels"
)

// What other tools ask Kubernetes for: autoscalers the scale of an object, people who have
// other kinds named vm our short names, and Argo CD the health of each object.
func TestOtherToolsGetWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(several("2", "Allow"))
	s.apply(machine("db"))
	s.apply(strings.ReplaceAll(machine("lost"), "classRef: {name: small}", "classRef: {name: smal}"))
	s.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: before}
spec: {vmRef: {name: db}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: copy}
spec: {sourceVMRef: {name: db}, powerState: Off}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: anywhere}
spec: {}
`)
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db", "vmclone/copy", "vmsnapshot/before", "vmplacementpolicy/anywhere", "provider/proxmox")
	s.waits("vm/lost", "did you mean small")
	s.scaled("web", 2)
	s.kubectl("scale", "pxvm/web", "--replicas=1")
	s.waitFor("--for=jsonpath={.status.count}=1", "vm/web")
	s.waitFor("--for=condition=Ready", "vm/web")
	s.scaled("web", 1)
	for short, name := range map[string]string{
		"vm": "virtualmachine.infra.virtrigaud.io/db", "pxvm": "virtualmachine.infra.virtrigaud.io/db", "pxp": "provider.infra.virtrigaud.io/proxmox",
		"pxclass": "vmclass.infra.virtrigaud.io/small", "pxclone": "vmclone.infra.virtrigaud.io/copy", "pximage": "vmimage.infra.virtrigaud.io/ubuntu",
		"pxplace": "vmplacementpolicy.infra.virtrigaud.io/anywhere", "vmsnap": "vmsnapshot.infra.virtrigaud.io/before",
	} {
		if names := s.kubectl("get", short, "-o", "name"); !strings.Contains(names, name+"\n") {
			t.Errorf("kubectl get %s shows %q, without %s", short, names, name)
		}
	}
	s.healthy()
}

// scaled checks what an autoscaler reads of an object.
func (s *story) scaled(name string, want int) {
	s.t.Helper()
	var scale struct {
		Spec   struct{ Replicas int }
		Status struct {
			Replicas int
			Selector string
		}
	}
	text := s.kubectl("get", "--raw", "/apis/infra.virtrigaud.io/v1beta1/namespaces/"+s.namespace+"/virtualmachines/"+name+"/scale")
	if err := json.Unmarshal([]byte(text), &scale); err != nil {
		s.t.Fatal(err)
	}
	if scale.Spec.Replicas != want || scale.Status.Replicas != want {
		s.t.Errorf("the scale of %s is %s, want %d", name, text, want)
	}
	if selector, err := labels.Parse(scale.Status.Selector); err != nil || selector.Empty() {
		s.t.Errorf("the selector %q of %s can't be used: %v", scale.Status.Selector, name, err)
	}
}

// healthy checks the health check for Argo CD of docs/operator.md on all objects: one of
// them is Degraded.
func (s *story) healthy() {
	s.t.Helper()
	page, err := os.ReadFile("../../docs/operator.md")
	if err != nil {
		s.t.Fatal(err)
	}
	_, script, found := strings.Cut(string(page), "resource.customizations.health.infra.virtrigaud.io_VirtualMachine: |\n")
	script, _, ended := strings.Cut(script, "```")
	if !found || !ended {
		s.t.Fatal("the page has no health check")
	}
	var all struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(s.kubectl("get", "virtrigaud", "-o", "json")), &all); err != nil {
		s.t.Fatal(err)
	}
	kinds := map[any]bool{}
	for _, o := range all.Items {
		meta, _ := o["metadata"].(map[string]any)
		want := "Healthy"
		if meta["name"] == "lost" {
			want = "Degraded"
		}
		if status, message := s.health(script, o); status != want || message == "" {
			s.t.Errorf("%s %s is %s (%s), want %s", o["kind"], meta["name"], status, message, want)
		}
		kinds[o["kind"]] = true
		delete(o, "status")
		if status, _ := s.health(script, o); status != "Progressing" {
			s.t.Errorf("%s %s is %s before anybody has seen it", o["kind"], meta["name"], status)
		}
	}
	if len(kinds) != 7 {
		s.t.Errorf("there are %v", kinds)
	}
}

// health is what Argo CD makes of a health check and an object.
func (s *story) health(script string, object map[string]any) (status, message string) {
	s.t.Helper()
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", luaValue(l, object))
	if err := l.DoString(script); err != nil {
		s.t.Fatal(err)
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		s.t.Fatalf("the health check returns %v", l.Get(-1))
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

// luaValue is a value of JSON in Lua.
func luaValue(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		t := l.NewTable()
		for key, value := range v {
			t.RawSetString(key, luaValue(l, value))
		}
		return t
	case []any:
		t := l.NewTable()
		for _, value := range v {
			t.Append(luaValue(l, value))
		}
		return t
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}
