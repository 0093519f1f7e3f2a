package kubelet

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mailbox keeps the newest news of each pod until its node has time for it.
type mailbox struct {
	more chan struct{} // there is something

	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
}

func newMailbox() *mailbox {
	return &mailbox{more: make(chan struct{}, 1), pods: map[types.UID]*corev1.Pod{}}
}

func (m *mailbox) put(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pods[pod.UID] = pod
	select {
	case m.more <- struct{}{}:
	default: // it has been said
	}
}

func (m *mailbox) take() map[types.UID]*corev1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	pods := m.pods
	m.pods = map[types.UID]*corev1.Pod{}
	return pods
}
