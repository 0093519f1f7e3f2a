package privileges

import (
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// holder knows what credentials may do, as far as Proxmox has said. It never says that they lack what they may have:
// Proxmox decides then.
type holder struct {
	have *model.Observed
	// pools are those whose rights hold on a guest, too, by the guest's path.
	pools map[string][]string
	// zoned are the paths of bridges among those that Proxmox has listed.
	zoned func() map[string]map[string]bool
	// ask are the paths that have to be read before more is known.
	ask []string
}

// verdict is whether credentials have something.
type verdict int

const (
	held verdict = iota // or nobody knows
	lacking
	doubtful // until holder.ask is read
)

// claim judges one claim.
func (h *holder) claim(c claim) verdict {
	if h.uncertain(c) {
		return held
	}
	worst, asked := lacking, len(h.ask)
	for _, at := range append([]string{c.path}, h.pools[c.path]...) {
		switch h.on(at, c.priv) {
		case held:
			h.ask = h.ask[:asked] // there is nothing to find out
			return held
		case doubtful:
			worst = doubtful
		}
	}
	return worst
}

// uncertain reports whether a claim is none about a path that is known: any node or storage may be meant, or a
// bridge whose zone isn't known and which may be one that they may use.
func (h *holder) uncertain(c claim) bool {
	switch {
	case below(c.path), strings.Contains(c.path, unnamed):
		return true
	case strings.HasPrefix(c.path, localBridges):
		return h.granted(c.path, c.priv) || h.someBridge(c)
	}
	return false
}

// localBridges is where the bridges of nodes are in the access tree. VNets are in their zones, which who may use them needn't see.
const localBridges = allBridges + "/localnetwork/"

// someBridge reports whether credentials have a privilege on a bridge of that name in any zone, or on one of its
// VLANs, which is enough for the others that Proxmox doesn't ask for; or that may be a VNet.
func (h *holder) someBridge(c claim) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(c.path, localBridges), "/")
	if !strings.HasPrefix(name, "vmbr") {
		return true
	}
	for at, privs := range h.zoned() {
		_, inside, _ := strings.Cut(strings.TrimPrefix(at, allBridges+"/"), "/")
		bridge, _, _ := strings.Cut(inside, "/")
		if spreads, has := privs[c.priv]; has && (bridge == name || bridge == "" && spreads) {
			return true
		}
	}
	return false
}

// zoned returns the paths of bridges and their zones among others: every guest may have a path, too.
func zoned(paths map[string]map[string]bool) map[string]map[string]bool {
	list := map[string]map[string]bool{}
	for at, privs := range paths {
		if strings.HasPrefix(at, allBridges+"/") {
			list[at] = privs
		}
	}
	return list
}

// on judges a privilege on one path. Proxmox lists the paths where somebody was granted something, and those below
// them have what spreads; but who has nothing on a path isn't told of it, and what a user has and what his token has may come from different paths.
// So Proxmox is asked before something counts as missing that isn't listed.
func (h *holder) on(at, priv string) verdict {
	if rights, read := h.have.Rights[at]; read {
		if rights == nil || rights[priv] {
			return held
		}
		return lacking
	}
	if h.granted(at, priv) {
		return held
	}
	if _, listed := h.have.Held.Paths[at]; listed {
		return lacking
	}
	return h.doubt(at, priv)
}

// granted reports whether Proxmox has listed a privilege on a path, or on one above it from which it spreads.
func (h *holder) granted(at, priv string) bool {
	if privs, listed := h.have.Held.Paths[at]; listed {
		_, has := privs[priv]
		return has
	}
	return slices.ContainsFunc(ancestors(at), func(above string) bool { return h.have.Held.Paths[above][priv] })
}

// enoughSiblings are so many paths beside each other as are asked for, where nothing is listed on any of them: a thousand machines
// that lack the same are no reason for a thousand requests.
const enoughSiblings = 8

// doubt asks for a path; what siblings lack that nothing is listed for either, it lacks, too.
func (h *holder) doubt(at, priv string) verdict {
	asked, without := 0, 0
	for other, rights := range h.have.Rights {
		if _, listed := h.have.Held.Paths[other]; listed || path.Dir(other) != path.Dir(at) || rights == nil {
			continue
		}
		if asked++; !rights[priv] {
			without++
		}
	}
	if asked >= enoughSiblings {
		if without == asked {
			return lacking
		}
		return held // or not: Proxmox decides
	}
	h.ask = append(h.ask, at)
	return doubtful
}

// need judges what a call asks for: the best of the alternatives.
func (h *holder) need(n need) verdict {
	best, asked := lacking, len(h.ask)
	for _, all := range n.any {
		worst := held
		for _, c := range all {
			switch v := h.claim(c); {
			case v == lacking:
				worst = lacking
			case v == doubtful && worst == held:
				worst = doubtful
			}
		}
		switch worst {
		case held:
			h.ask = h.ask[:asked]
			return held
		case doubtful:
			best = doubtful
		}
	}
	return best
}

// missing returns what has to be granted to meet needs that aren't met: of alternatives those that take least beside the
// rest.
func (h *holder) missing(unmet []need) []claim {
	var list []claim
	for _, n := range unmet {
		if len(n.any) == 1 {
			list = append(list, h.of(n.any[0], list)...)
		}
	}
	for _, n := range unmet {
		if len(n.any) == 1 {
			continue
		}
		least := h.of(n.any[0], list)
		for _, all := range n.any[1:] {
			if more := h.of(all, list); cost(more) < cost(least) {
				least = more
			}
		}
		list = append(list, least...)
	}
	return list
}

// of returns the claims that are missing beside others.
func (h *holder) of(all, beside []claim) []claim {
	return slices.DeleteFunc(slices.Clone(all), func(c claim) bool { return slices.Contains(beside, c) || h.claim(c) != lacking })
}

// cost returns how much claims allow together.
func cost(all []claim) (sum int) {
	for _, c := range all {
		sum += weight(c)
	}
	return sum
}

// together puts claims together by path.
func together(claims []claim) []model.Lack {
	var list []model.Lack
	for _, c := range claims {
		at := slices.IndexFunc(list, func(l model.Lack) bool { return l.Path == c.path })
		if at < 0 {
			at = len(list)
			list = append(list, model.Lack{Path: c.path})
		}
		if !slices.Contains(list[at].Privs, c.priv) {
			list[at].Privs = append(list[at].Privs, c.priv)
		}
	}
	slices.SortFunc(list, func(a, b model.Lack) int { return strings.Compare(a.Path, b.Path) })
	for _, l := range list {
		slices.Sort(l.Privs)
	}
	return list
}
