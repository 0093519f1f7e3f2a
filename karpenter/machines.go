package karpenter

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/site"
)

// machines are the machines of this door, for those who give them tokens and certificates.
type machines struct {
	client   client.Reader
	provider *CloudProvider
}

var _ join.Machines = (*machines)(nil)

// ByNode finds the machine of a Node: a NodeClaim has the name of its Node.
func (m *machines) ByNode(ctx context.Context, node string) (*join.Machine, error) {
	var claim v1.NodeClaim
	if err := m.client.Get(ctx, types.NamespacedName{Name: node}, &claim); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	one := &join.Machine{ID: string(claim.UID), Node: node}
	if claim.Status.ProviderID == "" {
		return one, nil // it isn't launched yet, so nothing is known of its addresses
	}
	if !strings.HasPrefix(claim.Status.ProviderID, idScheme) {
		return nil, nil // it isn't ours
	}
	region, _, err := ParseProviderID(claim.Status.ProviderID)
	if err != nil {
		return nil, err
	}
	r, err := m.provider.regions.Get(region)
	if err != nil {
		return nil, err
	}
	is, err := r.Site.Read(ctx, m.provider.ownerOf(&claim))
	switch {
	case errors.Is(err, site.ErrNotFound):
		return nil, nil // it isn't ours
	case err != nil:
		return nil, err
	}
	for _, a := range is.Guest.Addresses {
		one.Addresses = append(one.Addresses, a.Addr())
	}
	if is.Outcome != nil {
		one.Addresses = append(one.Addresses, is.Outcome.Leased...)
		one.Addresses = append(one.Addresses, bare(is.Outcome.Addresses)...)
	}
	return one, nil
}

// bare are addresses without the lengths of their prefixes.
func bare(list []netip.Prefix) (all []netip.Addr) {
	for _, p := range list {
		all = append(all, p.Addr())
	}
	return all
}

// Exists reports whether there is a NodeClaim with a UID.
func (m *machines) Exists(ctx context.Context, id string) (bool, error) {
	var claims v1.NodeClaimList
	if err := m.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	for i := range claims.Items {
		if string(claims.Items[i].UID) == id {
			return true, nil
		}
	}
	return false, nil
}

// eachName calls a function with the name of each object of a list.
func eachName(list client.ObjectList, do func(string)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		if one, ok := o.(client.Object); ok {
			do(one.GetName())
		}
		return nil
	})
}
