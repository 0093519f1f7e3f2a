package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProxmoxUnmanagedTemplate is a template that people make in Proxmox, by its name or tags: one on
// each Proxmox node, or one on a shared storage.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=karpenter
// +kubebuilder:printcolumn:name="Zones",type=string,JSONPath=`.status.resources.zones`,description="Proxmox nodes that have the template"
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.templateName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ProxmoxUnmanagedTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec UnmanagedTemplateSpec `json:"spec"`
	// Status of the template.
	// +optional
	Status TemplateStatus `json:"status,omitempty"`
}

// ProxmoxUnmanagedTemplateList is a list of ProxmoxUnmanagedTemplates.
//
// +kubebuilder:object:root=true
type ProxmoxUnmanagedTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the templates.
	Items []ProxmoxUnmanagedTemplate `json:"items"`
}

// UnmanagedTemplateSpec selects the templates.
//
// +kubebuilder:validation:XValidation:rule="has(self.templateName) || has(self.tags)",message="name the template by templateName, by tags, or by both"
type UnmanagedTemplateSpec struct {
	// Region is the Proxmox cluster that has the template. Default: all regions.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Region string `json:"region,omitempty"`

	// TemplateName is the name of the templates.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TemplateName string `json:"templateName,omitempty"`

	// Tags that each of the templates has.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=64
	Tags []string `json:"tags,omitempty"`
}
