package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/model"
)

// errLost: a guest that was there is gone from Proxmox. It isn't made again.
var errLost = errors.New("the guest is gone from Proxmox, and isn't made again with the user-data of the former one")

// claim writes down which VMID a machine gets, before a guest is made under it, and what follows from that: what a look afterwards finds new
// isn't worth another write.
func (f *fleet) claim(ctx context.Context, owner model.Owner, vmid int, node string) error {
	if owner.Kind != Kind {
		return nil
	}
	var m clusterv1alpha1.Machine
	if err := f.direct.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, &m); err != nil {
		return err
	}
	switch {
	case string(m.UID) != owner.UID:
		return fmt.Errorf("%s is another one by now", owner.Key)
	case recordOf(&m).Made:
		f.mu.Lock()
		f.lost[owner] = true
		f.mu.Unlock()
		f.feed.wake(owner)
		return errLost
	}
	status := map[string]any{"providerStatus": map[string]any{"vmid": vmid, "node": node}}
	if m.Status.ErrorReason == nil {
		status["phase"] = phaseProvisioning
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.UID}, "status": status})
	if err != nil {
		return err
	}
	if err := f.direct.Patch(ctx, &m, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	f.wrote(owner, m.ResourceVersion, time.Now())
	return nil
}

// isLost reports whether a machine's guest is gone.
func (f *fleet) isLost(o model.Owner) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost[o]
}

// found notes that a machine may be made again.
func (f *fleet) found(o model.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lost, o)
}
