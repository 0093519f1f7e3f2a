package machines_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// definitions are the definitions of kinds in a text, by their names.
func definitions(t *testing.T, text []byte) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for doc := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		if !strings.Contains(doc, "kind: CustomResourceDefinition") {
			continue
		}
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(doc), d); err != nil {
			t.Fatal(err)
		}
		all[d.Name] = d
	}
	return all
}

// The definitions of the kinds are those of machine-controller. What they have more is listed here.
func TestTheDefinitionsAreTheOriginals(t *testing.T) {
	t.Parallel()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8c.io/machine-controller").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "examples", "machine-controller.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := definitions(t, text)
	for _, kind := range []string{"machinedeployments", "machines", "machinesets"} {
		name := kind + ".cluster.k8s.io"
		text, err := os.ReadFile("../../deploy/crds/machines/cluster.k8s.io_" + kind + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		is, want := definitions(t, text)[name], theirs[name]
		if is == nil || want == nil {
			t.Fatalf("%s: ours %v, the original's %v", name, is, want)
		}
		want.Labels = nil // "local-testing"
		for _, d := range []*apiextensionsv1.CustomResourceDefinition{is, want} {
			if len(d.Spec.Versions) != 1 || !*d.Spec.Versions[0].Schema.OpenAPIV3Schema.XPreserveUnknownFields {
				t.Fatalf("%s has the versions %v", name, d.Spec.Versions)
			}
			d.Spec.Versions[0].Schema = nil // see TestNoFieldOfTheOriginalIsLost
		}
		v := &is.Spec.Versions[0]
		switch kind {
		case "machinedeployments": // a HorizontalPodAutoscaler asks for it
			v.Subresources.Scale.LabelSelectorPath = nil
		case "machines":
			v.AdditionalPrinterColumns = slices.DeleteFunc(v.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
				return c.Name == "Phase" && c.Priority == 1
			})
		}
		if diff := cmp.Diff(want, is); diff != "" {
			t.Errorf("%s: the original's (-), ours (+)\n%s", name, diff)
		}
	}
}

// fill sets every field of a value, and of what it refers to.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(1_700_000_000, 0)))
		return
	case metav1.MicroTime:
		return
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("1")))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromString("25%")))
		return
	case runtime.RawExtension:
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte(`{"cloudProvider":"proxmox","of":{"others":[1,{"deep":null}]}}`)}))
		return
	case metav1.FieldsV1, []metav1.ManagedFieldsEntry:
		return // the API server's
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("some")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	default:
	}
}

// Every field that the original's types have is kept by our definitions as it is written.
func TestNoFieldOfTheOriginalIsLost(t *testing.T) {
	t.Parallel()
	s := before(t)
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"some": "some"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "some", Operator: metav1.LabelSelectorOpIn, Values: []string{"some"}}}}
	deployment, set, one := &clusterv1alpha1.MachineDeployment{}, &clusterv1alpha1.MachineSet{}, &clusterv1alpha1.Machine{}
	for _, v := range []any{&deployment.Spec, &set.Spec, &one.Spec, &one.Status} {
		fill(reflect.ValueOf(v).Elem())
	}
	deployment.Spec.Selector, set.Spec.Selector = selector, selector
	deployment.Spec.Strategy.Type, set.Spec.DeletePolicy = "RollingUpdate", "Oldest"
	for kind, o := range map[string]client.Object{"MachineDeployment": deployment, "MachineSet": set, "Machine": one} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}
		u.SetGroupVersionKind(clusterv1alpha1.SchemeGroupVersion.WithKind(kind))
		u.SetNamespace(s.namespace)
		u.SetName("whole")
		if err := kube.Create(t.Context(), u); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		parts := []string{"spec"}
		if kind == "Machine" { // it has no subresource for the status
			parts = append(parts, "status")
		}
		for _, part := range parts {
			if diff := cmp.Diff(fields[part], u.Object[part]); diff != "" {
				t.Errorf("%s: written (-), kept (+)\n%s", kind, diff)
			}
		}
	}
}
