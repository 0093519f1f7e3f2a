package v1alpha1

import (
	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
)

// Conditions of templates and of ProxmoxNodeClass, beside Ready.
const (
	// ConditionTemplateReady: Proxmox has the template wherever it can be.
	ConditionTemplateReady = "ProxmoxVirtualMachineTemplateReady"
	// ConditionInstanceTemplateReady: the template of a ProxmoxNodeClass is ready.
	ConditionInstanceTemplateReady = "InstanceTemplateReady"
	// ConditionInstanceMetadataOptionsReady: the first-boot data can be made.
	ConditionInstanceMetadataOptionsReady = "InstanceMetadataOptionsReady"
	// ConditionPlacementReady: there is a Proxmox node that nodes can be made on, with the
	// storages, pools and security groups that the class names.
	ConditionPlacementReady = "PlacementReady"
)

// ResourceZones counts zones in status.resources.
const ResourceZones corev1.ResourceName = "zones"

// TemplateStatus is the status of a template.
type TemplateStatus struct {
	// Conditions say whether the template can be used, and if not, what to do.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`

	// Resources counts the zones that have the template.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`

	// Zones are the Proxmox nodes that have the template, each as region/node/vmid.
	// +optional
	Zones []string `json:"zones,omitempty"`

	// ImageID identifies the content of the template. Nodes that were made from another one have
	// drifted.
	// +optional
	ImageID string `json:"imageID,omitempty"`
}

// NodeClassStatus is the status of a ProxmoxNodeClass.
type NodeClassStatus struct {
	// Conditions say whether nodes can be made, and if not, what to do.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`

	// Resources counts the zones in which nodes can be made.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`

	// SelectedZones are the Proxmox nodes on which nodes can be made, each with its template as
	// region/node/vmid.
	// +optional
	SelectedZones []string `json:"selectedZones,omitempty"`
}

// StatusConditions returns the conditions of a template.
func (t *ProxmoxTemplate) StatusConditions(opts ...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions(ConditionTemplateReady).For(t, opts...)
}

// GetConditions gives the conditions.
func (t *ProxmoxTemplate) GetConditions() []status.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions.
func (t *ProxmoxTemplate) SetConditions(c []status.Condition) { t.Status.Conditions = c }

// StatusConditions returns the conditions of a template.
func (t *ProxmoxUnmanagedTemplate) StatusConditions(opts ...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions(ConditionTemplateReady).For(t, opts...)
}

// GetConditions gives the conditions.
func (t *ProxmoxUnmanagedTemplate) GetConditions() []status.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions.
func (t *ProxmoxUnmanagedTemplate) SetConditions(c []status.Condition) { t.Status.Conditions = c }

// StatusConditions returns the conditions of a ProxmoxNodeClass.
func (n *ProxmoxNodeClass) StatusConditions(opts ...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions(ConditionInstanceTemplateReady, ConditionInstanceMetadataOptionsReady, ConditionPlacementReady).For(n, opts...)
}

// GetConditions gives the conditions.
func (n *ProxmoxNodeClass) GetConditions() []status.Condition { return n.Status.Conditions }

// SetConditions replaces the conditions.
func (n *ProxmoxNodeClass) SetConditions(c []status.Condition) { n.Status.Conditions = c }
