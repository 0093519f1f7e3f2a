// Command checkcrds reads custom resource definitions and says what kube-apiserver would refuse about them: schemas
// that aren't structural, rules that don't compile, and rules that may cost too much. The checks are those of the API
// server itself, which isn't started.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func main() {
	wrong := false
	for _, file := range os.Args[1:] {
		problems, err := check(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		for _, p := range problems {
			fmt.Println(file + ": " + p)
			wrong = true
		}
	}
	if wrong {
		os.Exit(1)
	}
}

func check(file string) (problems []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var def v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &def); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&def)
	for _, version := range def.Spec.Versions {
		if version.Storage { // as the API server writes it down
			def.Status.StoredVersions = append(def.Status.StoredVersions, version.Name)
		}
	}
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&def, &internal, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, e := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
		problems = append(problems, e.Error())
	}
	return problems, nil
}
