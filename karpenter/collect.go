package karpenter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// collector removes machines whose NodeClaim is lost, or has its machine in another region. It knows them by the proof in Proxmox.
type collector struct {
	direct   client.Reader // past the cache: a NodeClaim that isn't in the cache yet isn't lost
	provider *CloudProvider
	log      *slog.Logger
	every    time.Duration

	missing map[model.Owner]string // without a NodeClaim in the last round, with their region
}

// collectEvery is how often machines are compared with NodeClaims, and collectAgain how soon once more if one has none: after
// that time lists were read again.
const (
	collectEvery = time.Minute
	collectAgain = 30 * time.Second
)

// Start runs until ctx ends.
func (c *collector) Start(ctx context.Context) error {
	for {
		err := c.round(ctx)
		pause := c.pause(err)
		if err != nil && !errors.Is(err, errUnread) && ctx.Err() == nil {
			c.log.Warn("look for machines without a NodeClaim", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// pause is how long after a round the next one is.
func (c *collector) pause(err error) time.Duration {
	switch {
	case errors.Is(err, errUnread):
		return time.Second
	case len(c.missing) > 0:
		return min(c.every, collectAgain)
	}
	return c.every
}

// NeedLeaderElection reports true to the manager: followers change nothing.
func (*collector) NeedLeaderElection() bool { return true }

// found is a machine in Proxmox.
type found struct {
	region *Region
	owner  model.Owner
	vmid   int
}

// round looks once. A machine is removed when it has had no NodeClaim in two rounds. A region that can't be asked holds up
// no other one.
func (c *collector) round(ctx context.Context) error {
	// Machines first: one that is made after they were listed is left out.
	all, asked, errs := c.list(ctx)
	if errors.Is(errs, errUnread) {
		return errs
	}
	var claims v1.NodeClaimList
	if err := c.direct.List(ctx, &claims); err != nil {
		return fmt.Errorf("list NodeClaims: %w", err)
	}
	known, ids := map[string]string{}, sets.New[string]() // regions of NodeClaims by their UID; empty: it isn't known yet
	for i := range claims.Items {
		c := &claims.Items[i]
		region, _, err := ParseProviderID(c.Status.ProviderID)
		if err != nil {
			region = ""
		}
		known[string(c.UID)] = region
		ids.Insert(c.Status.ProviderID)
	}
	missing := map[model.Owner]string{}
	for owner, region := range c.missing {
		if !asked.Has(region) {
			missing[owner] = region
		}
	}
	for _, f := range all {
		if ids.Has(ProviderID(f.region.Name, f.vmid)) {
			continue
		}
		if f.owner.Key == (model.Key{}) {
			var err error
			if f.owner, err = f.region.Site.Owner(ctx, f.vmid); err != nil {
				if !errors.Is(err, site.ErrNotFound) { // else its notes prove nothing, so it isn't ours
					errs = errors.Join(errs, fmt.Errorf("find out whose VM %d in region %s is: %w", f.vmid, f.region.Name, err))
				}
				continue
			}
		}
		// A NodeClaim whose machine is in another region has no use for this one.
		at, there := known[f.owner.UID]
		if f.owner.Kind != kindNodeClaim || f.owner.Door != Door || f.owner.Set != c.provider.set || there && !c.elsewhere(at, f.region) {
			continue
		}
		missing[f.owner] = f.region.Name
		if c.missing[f.owner] == "" {
			continue
		}
		c.log.Info("remove a machine that no NodeClaim has", "machine", f.owner.Name, "vmid", f.vmid, "region", f.region.Name)
		if err := f.region.Site.Remove(ctx, f.owner); err != nil {
			errs = errors.Join(errs, fmt.Errorf("remove VM %d of %s: %w", f.vmid, f.owner.Name, err))
			continue
		}
		c.provider.metrics.orphans.WithLabelValues(f.region.Name).Inc()
	}
	c.missing = missing
	return errs
}

// elsewhere reports whether a region is known to be another Proxmox cluster than that of a machine that was found. Two Providers may stand for one
// cluster, and a region may have another name than before: the machine that both list is the one that the NodeClaim has.
func (c *collector) elsewhere(region string, found *Region) bool {
	r, err := c.provider.regions.Get(region)
	if err != nil {
		return false
	}
	one, other := r.Site.Identity(), found.Site.Identity()
	return one != "" && other != "" && one != other
}

// list lists the machines of all regions, and which regions were asked.
func (c *collector) list(ctx context.Context) (all []found, asked sets.Set[string], errs error) {
	regions, errs := c.provider.regions.All()
	asked = sets.New[string]()
	for _, r := range regions {
		machines, err := r.Site.List(ctx, Door, c.provider.set)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("list the machines of region %s: %w", r.Name, err))
			continue
		}
		asked.Insert(r.Name)
		// A clone has its tags only once it is configured, and whoever began it may be dead by then.
		begun, err := r.Site.Begun(ctx, Door, c.provider.set, generated.MatchString)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("look for machines that were begun in region %s: %w", r.Name, err))
		}
		for _, m := range append(machines, begun...) {
			all = append(all, found{r, m.Owner, m.Guest.VMID})
		}
	}
	return all, asked, errs
}

// generated are names as Kubernetes makes them up for NodeClaims: that of their NodePool, and five letters or digits.
var generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
