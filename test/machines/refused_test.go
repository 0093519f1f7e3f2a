package machines_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// What the definitions of the kinds refuse. A MachineSet that doesn't select its machines would make others without end.
func TestWhatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	s := before(t)
	deployment := s.pool(pool{name: "md", replicas: 1})
	set := strings.Replace(deployment, "kind: MachineDeployment", "kind: MachineSet", 1)
	const selector, labels = "selector: {matchLabels: {pool: md}}", "template:\n    metadata: {labels: {pool: md}}"
	for name, c := range map[string]struct{ text, old, new, want string }{
		"MachineDeployment without a selector":        {deployment, selector, "", "selector is empty"},
		"MachineDeployment with an empty one":         {deployment, selector, "selector: {matchLabels: {}}", "selector is empty"},
		"MachineDeployment that selects others":       {deployment, labels, strings.ReplaceAll(labels, "md", "other"), "select no machine"},
		"MachineDeployment that can't replace":        {deployment, selector, selector + "\n  strategy: {rollingUpdate: {maxSurge: 0}}", "no machine could be replaced"},
		"MachineSet without a selector":               {set, selector, "", "selector is empty"},
		"MachineSet with an empty one":                {set, selector, "selector: {}", "selector is empty"},
		"MachineSet that selects others":              {set, labels, strings.ReplaceAll(labels, "md", "other"), "select no machine"},
		"MachineSet with a policy that doesn't exist": {set, selector, selector + "\n  deletePolicy: Cheapest", "deletePolicy"},
	} {
		if err := s.create(strings.Replace(c.text, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{deployment, set} {
		text = strings.Replace(text, "name: md}", "name: kept}", 1)
		if err := s.create(text); err != nil {
			t.Fatal(err)
		}
		o := object(t, text)
		o.SetNamespace(s.namespace)
		patch := []byte(`{"spec":{"selector":{"matchLabels":{"tier":"web"}},"template":{"metadata":{"labels":{"tier":"web"}}}}}`)
		if err := kube.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", patch)); err == nil || !strings.Contains(err.Error(), "selector stays as it is") {
			t.Errorf("another selector of a %s: %v", o.GetKind(), err)
		}
	}
	for _, text := range []string{deployment, set} {
		text = strings.Replace(text, "  replicas: 1\n", "", 1)
		if err := s.create(text); err != nil {
			t.Fatal(err)
		}
		o := object(t, text)
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: o.GetName()}, o); err != nil {
			t.Fatal(err)
		}
		if n, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas"); err != nil || n != 1 {
			t.Errorf("%s has %d replicas: %v", o.GetKind(), n, err)
		}
	}
}

// The name of a guest and its Node stays as it is: a Machine with another one would lose its Node.
func TestTheNameOfAMachineStays(t *testing.T) {
	t.Parallel()
	s := before(t)
	_, spec, _ := strings.Cut(s.pool(pool{name: "md"}), "template:")
	if err := s.create("apiVersion: cluster.k8s.io/v1alpha1\nkind: Machine\nmetadata: {name: one}\n" + outdent(spec[strings.Index(spec, "    spec:"):])); err != nil {
		t.Fatal(err)
	}
	patch := func(text string) error {
		return kube.Patch(t.Context(), &machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "one"}}, client.RawPatch("application/merge-patch+json", []byte(text)))
	}
	if err := patch(`{"spec":{"metadata":{"name":"one"}}}`); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`{"spec":{"metadata":{"name":"two"}}}`, `{"spec":{"metadata":{"name":null}}}`, `{"spec":{"metadata":null}}`} {
		if err := patch(text); err == nil || !strings.Contains(err.Error(), "stays as it is") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := patch(`{"spec":{"metadata":{"labels":{"tier":"web"}}}}`); err != nil {
		t.Error(err)
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return o
}

// create creates an object in the story's namespace.
func (s *story) create(text string) error {
	s.t.Helper()
	o := object(s.t, text)
	o.SetNamespace(s.namespace)
	return kube.Create(s.t.Context(), o)
}
