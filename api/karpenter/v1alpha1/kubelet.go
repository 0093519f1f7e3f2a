package v1alpha1

// KubeletConfiguration are settings of the kubelet of nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",message="imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent"
type KubeletConfiguration struct {
	// AllowedUnsafeSysctls are the unsafe sysctls that pods may use.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	AllowedUnsafeSysctls []string `json:"allowedUnsafeSysctls,omitempty"`

	// ClusterDNS are the DNS servers of pods.
	// +optional
	// +kubebuilder:validation:MaxItems=3
	ClusterDNS []string `json:"clusterDNS,omitempty"`

	// CPUCFSQuota enforces CPU limits.
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`

	// CPUCFSQuotaPeriod is the period of CPU limits, such as 100ms.
	// +optional
	CPUCFSQuotaPeriod string `json:"cpuCFSQuotaPeriod,omitempty"`

	// CPUManagerPolicy is none or static.
	// +optional
	// +kubebuilder:validation:Enum=none;static
	CPUManagerPolicy string `json:"cpuManagerPolicy,omitempty"`

	// FailSwapOn makes the kubelet fail if there is swap.
	// +optional
	FailSwapOn *bool `json:"failSwapOn,omitempty"`

	// ImageGCHighThresholdPercent of disk usage starts the garbage collection of images.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`

	// ImageGCLowThresholdPercent of disk usage ends the garbage collection of images.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`

	// MaxPods is how many pods a node runs. Default: 110.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=250
	MaxPods *int32 `json:"maxPods,omitempty"`

	// ShutdownGracePeriod is how long pods have to end when the machine shuts down, such as 30s.
	// +optional
	ShutdownGracePeriod string `json:"shutdownGracePeriod,omitempty"`

	// TopologyManagerPolicy is none, best-effort, restricted or single-numa-node.
	// +optional
	// +kubebuilder:validation:Enum=restricted;best-effort;none;single-numa-node
	TopologyManagerPolicy string `json:"topologyManagerPolicy,omitempty"`

	// TopologyManagerScope is container or pod.
	// +optional
	// +kubebuilder:validation:Enum=container;pod
	TopologyManagerScope string `json:"topologyManagerScope,omitempty"`
}
