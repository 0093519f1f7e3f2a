package chart

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// Docker and ko build the same program: static, since there is nothing else in the
// image, and without the paths of whoever built it. It runs as the user that the chart
// names.
func TestBothWaysToBuildTheImageAreTheSame(t *testing.T) {
	docker, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../.ko.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ko struct {
		DefaultBaseImage string
		Builds           []struct {
			ID, Main            string
			Env, Flags, Ldflags []string
		}
	}
	if err := yaml.UnmarshalStrict(text, &ko); err != nil || len(ko.Builds) != 1 {
		t.Fatalf("%+v, %v", ko, err)
	}
	if !regexp.MustCompile(`@sha256:[0-9a-f]{64}$`).MatchString(ko.DefaultBaseImage) {
		t.Errorf("the base image %q may change from one build to the next", ko.DefaultBaseImage)
	}
	b := ko.Builds[0]
	if !slices.Contains(b.Env, "CGO_ENABLED=0") || !slices.Contains(b.Flags, "-trimpath") {
		t.Errorf("ko builds with %v %v", b.Env, b.Flags)
	}
	stamp := regexp.MustCompile(`\{\{\.Env\.(\w+)\}\}`).ReplaceAllString(strings.Join(b.Ldflags, " "), "$$$1") // an argument of the Dockerfile
	command := strings.Join(b.Env, " ") + " go build " + strings.Join(b.Flags, " ") + ` -ldflags "` + stamp + `" -o /proxplane ` + b.Main
	if !strings.Contains(strings.ReplaceAll(string(docker), " \\\n\t", " "), "\nRUN "+command+"\n") {
		t.Errorf("the Dockerfile doesn't run %s", command)
	}
	_, last, _ := strings.Cut(string(docker), "\nFROM scratch\n")
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(last)
	pod := only[appsv1.Deployment](t, rendered(t), "Deployment").Spec.Template.Spec
	if user == nil || user[1] != "65532" || *pod.SecurityContext.RunAsUser != 65532 || *pod.SecurityContext.RunAsGroup != 65532 {
		t.Errorf("the image is for user %v, the pod for %d", user, *pod.SecurityContext.RunAsUser)
	}
	if !strings.Contains(last, `ENTRYPOINT ["/proxplane"]`) || len(pod.Containers[0].Command) > 0 {
		t.Error("the image doesn't begin with proxplane")
	}
}
