package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMPlacementPolicy selects the nodes that machines may be placed on.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pxplace,categories=virtrigaud,path=vmplacementpolicies
// +kubebuilder:printcolumn:name="MACHINES",type=integer,JSONPath=".status.machines"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="WAITING",type=string,priority=1,JSONPath=".status.waiting"
type VMPlacementPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMPlacementPolicySpec `json:"spec"`

	// Status of the object in Kubernetes.
	// +optional
	Status UseStatus `json:"status,omitempty,omitzero"`
}

// VMPlacementPolicyList is a list of VMPlacementPolicies.
//
// +kubebuilder:object:root=true
type VMPlacementPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []VMPlacementPolicy `json:"items"`
}

// VMPlacementPolicySpec is the policy. It applies when a machine is created. An existing
// machine is migrated when its node isn't allowed any more, if its updatePolicy.move allows
// that.
type VMPlacementPolicySpec struct {
	// SharedWith names the namespaces whose machines may refer to this object, "*" for all.
	// Default: only its own.
	// +optional
	SharedWith Namespaces `json:"sharedWith,omitempty"`

	// NodeSelector are the nodes that may be used. Empty: those of the Provider.
	// +optional
	NodeSelector []string `json:"nodeSelector,omitempty"`

	// NodeLabels select nodes by their labels in spec.nodes of the Provider: nodes that match
	// all requirements may be used.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	NodeLabels []LabelRequirement `json:"nodeLabels,omitempty"`

	// Strategy chooses among the nodes that can take a machine: with "spread" the one with the
	// most free memory, with "pack" the one with the least. Default: spread.
	// +optional
	// +kubebuilder:validation:Enum=spread;pack
	Strategy string `json:"strategy,omitempty"`

	// SpreadBy is a label of nodes, such as rack: a new machine is placed in the rack with the
	// fewest machines of this policy, among those that can take it. Strategy decides within
	// that.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SpreadBy string `json:"spreadBy,omitempty"`

	// AntiAffinity keeps machines apart: two machines that match the same rule aren't placed
	// on the same node.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	AntiAffinity []AntiAffinityRule `json:"antiAffinity,omitempty"`

	// Constraints that a node must meet.
	// +optional
	Constraints PlacementConstraints `json:"constraints,omitempty"`
}

// AntiAffinityRule selects machines by the labels in their metadata, to keep them apart.
//
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || (self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",message="values belong to In and NotIn, and only to them: add or leave them out"
type AntiAffinityRule struct {
	// Key of the label.
	Key string `json:"key"`

	// Operator is In, NotIn, Exists or DoesNotExist. Default: In when there are
	// values, else Exists.
	// +optional
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator,omitempty"`

	// Values for In and NotIn.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Values []string `json:"values,omitempty"`

	// TopologyKey is a label of nodes, such as rack: machines aren't placed on nodes with the
	// same value either. Default: only the node itself counts.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	TopologyKey string `json:"topologyKey,omitempty"`
}

// LabelRequirement selects nodes by their labels.
//
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || (self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",message="values belong to In and NotIn, and only to them: add or leave them out"
type LabelRequirement struct {
	// Key of the label.
	Key string `json:"key"`

	// Operator is In, NotIn, Exists or DoesNotExist. Default: In when there are
	// values, else Exists.
	// +optional
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator,omitempty"`

	// Values for In and NotIn.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Values []string `json:"values,omitempty"`
}

// PlacementConstraints are limits that a node must meet.
type PlacementConstraints struct {
	// MaxVMsPerNode is how many VMs a node may have, whoever made them; templates don't count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxVMsPerNode int `json:"maxVMsPerNode,omitempty"`

	// MinFreeMemory must stay free on the node beside the machine's memory.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && (quantity(string(self)).compareTo(quantity('0')) == 0 || quantity(string(self)).compareTo(quantity('1Mi')) >= 0)",message="want an amount of memory such as 4Gi: a number without a unit counts bytes"
	MinFreeMemory *resource.Quantity `json:"minFreeMemory,omitempty"`
}
