package pvesim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve/schema"
)

func pruneRoutes() map[string]handler {
	return map[string]handler{
		"GET /nodes/{node}/storage/{storage}/prunebackups":    previewPrune,
		"DELETE /nodes/{node}/storage/{storage}/prunebackups": pruneContent,
	}
}

// prunePeriods are the retention options in the order in which they count,
// each with what makes two backups of the same period.
var prunePeriods = []struct {
	option string
	period func(time.Time) string
}{
	{"keep-last", func(t time.Time) string { return t.String() }},
	{"keep-hourly", func(t time.Time) string { return t.Format("2006-01-02 15") }},
	{"keep-daily", func(t time.Time) string { return t.Format(time.DateOnly) }},
	{"keep-weekly", func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, w) }},
	{"keep-monthly", func(t time.Time) string { return t.Format("2006-01") }},
	{"keep-yearly", func(t time.Time) string { return t.Format("2006") }},
}

// pruneEntry is a backup with what is to become of it.
type pruneEntry struct {
	volid string
	vmid  int
	kind  string
	at    time.Time
	mark  string // keep, remove, protected, renamed
}

// planPrune marks the backups of a storage.
func (s *Sim) planPrune(st *Storage, node, keep, kind string, vmid int) ([]*pruneEntry, error) {
	if !st.HasContent("backup") {
		return nil, die("storage '%s' does not support backups", st.ID)
	}
	if keep == "" {
		if keep = st.Conf["prune-backups"]; keep == "" {
			return nil, die("no prune-backups options configured for storage '%s'", st.ID)
		}
	}
	if _, err := s.activate(node, st.ID); err != nil {
		return nil, err
	}
	groups := map[string][]*pruneEntry{}
	var all []*pruneEntry
	for _, v := range s.space(st.ID, node).Volumes {
		if v.Content != "backup" || vmid != 0 && !v.listedFor(vmid) {
			continue
		}
		info := parseBackup(strings.TrimPrefix(v.Name, "backup/"))
		if kind != "" && kind != info.kind {
			continue
		}
		e := &pruneEntry{volid: st.ID + ":" + v.Name, vmid: info.vmid, kind: info.kind, at: v.CTime}
		if info.std {
			e.at = info.ctime
			group := fmt.Sprintf("%s/%d", info.kind, info.vmid)
			groups[group] = append(groups[group], e)
		} else {
			e.mark = "renamed"
		}
		if v.Protect {
			e.mark = "protected"
		}
		all = append(all, e)
	}
	counts := keepCounts(keep)
	for _, group := range groups {
		markGroup(group, counts)
	}
	slices.SortFunc(all, func(a, b *pruneEntry) int { return cmp.Compare(a.volid, b.volid) })
	return all, nil
}

// keepCounts reads "keep-last=3,keep-daily=7"; none that counts keeps all.
func keepCounts(text string) map[string]int {
	counts := map[string]int{}
	for _, o := range schema.SplitList(text) {
		k, v, _ := strings.Cut(o, "=")
		if n := atoi(v); n > 0 {
			counts[k] = n
		}
	}
	return counts
}

// markGroup decides for the backups of one guest.
func markGroup(group []*pruneEntry, counts map[string]int) {
	rest := "remove"
	if counts["keep-all"] > 0 || len(counts) == 0 {
		rest = "keep"
	}
	slices.SortFunc(group, func(a, b *pruneEntry) int { return b.at.Compare(a.at) })
	if rest == "remove" {
		for _, p := range prunePeriods {
			markPeriods(group, counts[p.option], p.period)
		}
	}
	for _, e := range group {
		if e.mark == "" {
			e.mark = rest
		}
	}
}

// markPeriods keeps the newest backup of each of so many periods.
func markPeriods(group []*pruneEntry, count int, period func(time.Time) string) {
	if count == 0 {
		return
	}
	before, now := map[string]bool{}, map[string]bool{}
	for _, e := range group {
		if e.mark == "keep" {
			before[period(e.at)] = true
		}
	}
	for _, e := range group {
		id := period(e.at)
		switch {
		case e.mark != "" || before[id]:
		case now[id]:
			e.mark = "remove"
		case len(now) >= count:
			return
		default:
			now[id], e.mark = true, "keep"
		}
	}
}

func previewPrune(c *call) (any, error) {
	st, err := c.storage()
	if err != nil {
		return nil, err
	}
	plan, err := c.planPrune(st, c.node(), c.params.Str("prune-backups"), c.params.Str("type"), c.params.Int("vmid"))
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, e := range plan {
		out := map[string]any{"volid": e.volid, "ctime": e.at.Unix(), "mark": e.mark, "type": e.kind}
		if e.vmid != 0 {
			out["vmid"] = e.vmid
		}
		list = append(list, maps.Clone(out))
	}
	return list, nil
}

func pruneContent(c *call) (any, error) {
	storage, vmid, node := c.params.Str("storage"), c.params.Int("vmid"), c.node()
	id := storage
	if vmid != 0 {
		id = itoa(vmid) + "@" + storage
		if err := c.need(c.who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
			return nil, err
		}
		if err := c.need(c.who, "/vms/"+itoa(vmid), "VM.Backup"); err != nil {
			return nil, err
		}
	} else if err := c.need(c.who, "/storage/"+storage, "Datastore.Allocate"); err != nil {
		return nil, err
	}
	keep, kind := c.params.Str("prune-backups"), c.params.Str("type")
	return c.fork(node, "prunebackups", id, c.who, func(t *task) error {
		st := t.state.Storages[storage]
		if st == nil {
			return die("storage '%s' does not exist", storage)
		}
		plan, err := t.planPrune(st, node, keep, kind, vmid)
		if err != nil {
			return err
		}
		for _, e := range plan {
			if e.mark != "remove" {
				continue
			}
			t.logf("removing backup '%s'", e.volid)
			if err := t.removeVolume(node, e.volid, t.logf); err != nil {
				return err
			}
		}
		return nil
	}), nil
}
