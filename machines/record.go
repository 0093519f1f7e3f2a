package machines

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// record is what is remembered of a machine: status.providerStatus.
type record struct {
	VMID int    `json:"vmid,omitempty"`
	Node string `json:"node,omitempty"` // of Proxmox
	// Cluster is the identity of the Proxmox cluster that it is in; empty: nobody can tell.
	Cluster string `json:"cluster,omitempty"`
	// Copied says that its template may have been copied for it, which was written down before.
	Copied bool `json:"copied,omitempty"`
	// Made says that the guest existed and ran: if it is gone afterwards it isn't recreated, since
	// its user-data are used up.
	Made bool `json:"made,omitempty"`
	// Started is when the guest was first seen to run.
	Started *metav1.Time `json:"started,omitempty"`
	// SeedDropped says that the first-boot data, which hold a token, were removed from its drive.
	SeedDropped bool `json:"seedDropped,omitempty"`
	// Spec is a digest of what the machine was made from.
	Spec string `json:"spec,omitempty"`
	// Addresses are those that it has from pools.
	Addresses []string `json:"addresses,omitempty"`
}

func recordOf(m *clusterv1alpha1.Machine) record {
	var r record
	if s := m.Status.ProviderStatus; s != nil && len(s.Raw) > 0 {
		_ = json.Unmarshal(s.Raw, &r) // what others wrote there says nothing to us
	}
	return r
}

func (r record) into(m *clusterv1alpha1.Machine) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // plain values only
	}
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: b}
}

// digest is what a machine is made from, as far as it mustn't change.
func digest(m *clusterv1alpha1.Machine) string {
	h := sha256.New()
	if v := m.Spec.ProviderSpec.Value; v != nil {
		h.Write(canonical(v.Raw))
	}
	h.Write([]byte("\x00" + m.Spec.Versions.Kubelet))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// canonical is JSON with its keys sorted.
func canonical(raw []byte) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}
