package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is group and version for Kubernetes' libraries.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers the types with Kubernetes' libraries.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Provider{}, &ProviderList{},
		&VirtualMachine{}, &VirtualMachineList{},
		&VMClass{}, &VMClassList{},
		&VMClone{}, &VMCloneList{},
		&VMImage{}, &VMImageList{},
		&VMPlacementPolicy{}, &VMPlacementPolicyList{},
		&VMSnapshot{}, &VMSnapshotList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
