package chart

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// The image is made from scratch and its root is read-only, and the libraries that make
// first-boot data need a folder for temporary files.
func TestTheOperatorHasAFolderForTemporaryFiles(t *testing.T) {
	pod := only[appsv1.Deployment](t, rendered(t), "Deployment").Spec.Template.Spec
	operator := pod.Containers[0]
	if operator.SecurityContext == nil || operator.SecurityContext.ReadOnlyRootFilesystem == nil || !*operator.SecurityContext.ReadOnlyRootFilesystem {
		t.Error("its root isn't read-only")
	}
	for _, m := range operator.VolumeMounts {
		if m.MountPath != "/tmp" || m.ReadOnly {
			continue
		}
		for _, v := range pod.Volumes {
			if v.Name == m.Name && v.EmptyDir != nil && v.EmptyDir.Medium == "Memory" && v.EmptyDir.SizeLimit != nil {
				return
			}
		}
	}
	t.Errorf("it has no /tmp of its own in memory: %v, %v", operator.VolumeMounts, pod.Volumes)
}
