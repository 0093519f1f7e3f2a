package karpenter

import (
	"fmt"
	"strconv"
	"strings"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/model"
)

// Door is the name of this door in the owners of machines.
const Door = "karpenter"

// idScheme begins provider IDs: proxmox://region/vmid.
const idScheme = "proxmox://"

// ProviderID returns the provider ID of a machine in a Node and a NodeClaim.
func ProviderID(region string, vmid int) string {
	return idScheme + region + "/" + strconv.Itoa(vmid)
}

// ParseProviderID parses a provider ID.
func ParseProviderID(id string) (region string, vmid int, err error) {
	rest, ok := strings.CutPrefix(id, idScheme)
	region, number, cut := strings.Cut(rest, "/")
	if !ok || !cut || region == "" {
		return "", 0, fmt.Errorf("want a provider ID such as %sregion/100, have %q", idScheme, id)
	}
	if vmid, err = strconv.Atoi(number); err != nil || vmid <= 0 {
		return "", 0, fmt.Errorf("want a provider ID such as %sregion/100, have %q", idScheme, id)
	}
	return region, vmid, nil
}

// kindNodeClaim is the kind of objects that own machines.
const kindNodeClaim = "NodeClaim"

// ownerOf is whose the machine of a NodeClaim is.
func (p *CloudProvider) ownerOf(claim *v1.NodeClaim) model.Owner {
	return model.Owner{Door: Door, Set: p.set, Key: model.Key{Kind: kindNodeClaim, Name: claim.Name}, UID: string(claim.UID)}
}
