package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// fileContents are the kinds of files that matter to all: images to make guests
// of, and drives for their first boot.
var fileContents = []string{"iso", "import"}

// place is where files can be.
type place struct{ node, storage, content string }

// places returns all places with files: a shared storage is asked on one node, others on each.
func places(have *model.Observed, contents ...string) []place {
	var list []place
	for _, name := range slices.Sorted(maps.Keys(have.Storages)) {
		s := have.Storages[name]
		for _, node := range slices.Sorted(maps.Keys(s.OnNode)) {
			if n := have.Nodes[node]; n == nil || !n.Online || s.Shared && node != firstNode(s, have) {
				continue
			}
			for _, content := range contents {
				if s.Content[content] {
					list = append(list, place{node, s.Name, content})
				}
			}
		}
	}
	return list
}

// Files reads the ISO and import images of the storages. A node that doesn't answer counts
// as offline: its files aren't known.
func (o *Observer) Files(ctx context.Context) error {
	files, seen, err := o.list(ctx, fileContents...)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Files, o.places = files, seen
	return nil
}

// Snippets reads the snippets of the storages, as far as they are visible: Proxmox shows
// them only to credentials with all rights on the storage.
func (o *Observer) Snippets(ctx context.Context) error {
	files, _, err := o.list(ctx, "snippets")
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Snippets = files
	return nil
}

// list reads which files of some kinds the storages have.
func (o *Observer) list(ctx context.Context, contents ...string) (map[string]model.File, map[place]bool, error) {
	var ask []place
	o.View(func(have *model.Observed) { ask = places(have, contents...) })
	files, seen := map[string]model.File{}, map[place]bool{}
	var mu sync.Mutex
	errs := make([]error, len(ask)) // in their order, whichever fails first
	var all sync.WaitGroup
	for i, p := range ask {
		all.Go(func() {
			list, err := o.client.Storage(p.node, p.storage).Content(ctx, pve.ContentFilter{Content: p.content})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, pve.ErrNodeUnreachable):
				o.nodeAway(p.node)
				return
			case err != nil:
				errs[i] = fmt.Errorf("list %s files of %s on %s: %w", p.content, p.storage, p.node, err)
				return
			}
			seen[p] = true
			for _, v := range list {
				files[v.ID] = also(files[v.ID], model.File{Volume: v.ID, Node: p.node, Content: v.Content, Size: v.Size})
			}
		})
	}
	all.Wait()
	return files, seen, errors.Join(errs...)
}

// also adds what one node has to what others have under the same name; the first
// node by name stands for all of them.
func also(known, f model.File) model.File {
	if known.Volume == "" {
		return f
	}
	nodes := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(known.Also), known.Node, f.Node))))
	if nodes[0] != f.Node {
		f = known
	}
	f.Node, f.Also = nodes[0], nodes[1:]
	return f
}

// without returns what is left when a node doesn't have the file any more.
func without(f model.File, node string) (left model.File, there bool) {
	nodes := slices.DeleteFunc(append([]string{f.Node}, f.Also...), func(n string) bool { return n == node })
	if len(nodes) == 0 {
		return model.File{}, false
	}
	f.Node, f.Also = nodes[0], nodes[1:]
	return f, true
}

// nodeAway notes that a node doesn't answer, until the next list.
func (o *Observer) nodeAway(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.have.Nodes[name]; n != nil {
		away := *n
		away.Online = false
		o.have.Nodes = maps.Clone(o.have.Nodes)
		o.have.Nodes[name] = &away
	}
}

// doubtFiles forgets the files when there are places that weren't looked at: a
// node that was away may have come back.
func (o *Observer) doubtFiles() {
	if o.have.Files == nil {
		return
	}
	for _, p := range places(&o.have, fileContents...) {
		if !o.places[p] {
			o.have.Files = nil
			return
		}
	}
}

// doubtSeed forgets the files when a guest has got a drive with first-boot data that
// they don't show: another of us has uploaded it since.
func (o *Observer) doubtSeed(was, now *model.Config) {
	if o.have.Files == nil || now.Marker == nil {
		return
	}
	for _, d := range now.Disks {
		_, listed := o.have.Files[d.Volume]
		if !listed && slices.Contains(now.Marker.Seeds(), d.Volume) && !holds(was, d.Volume) {
			o.have.Files = nil
			return
		}
	}
}

// holds reports whether a guest had a drive with a volume when its config was read.
func holds(c *model.Config, volume string) bool {
	return c != nil && slices.ContainsFunc(c.Disks, func(d model.Disk) bool { return d.Volume == volume })
}

// CheckFile checks whether a file still exists.
func (o *Observer) CheckFile(ctx context.Context, node, volume string) error {
	_, err := o.client.Storage(node, model.StorageOf(volume)).Volume(ctx, volume)
	switch {
	case errors.Is(err, pve.ErrNotFound):
		o.FileGone(node, volume)
		return nil
	case err != nil:
		o.FilesUnsure()
		return fmt.Errorf("look for %s on %s: %w", volume, node, err)
	}
	return nil
}

// firstNode returns the node on which a shared storage is asked.
func firstNode(s *model.Storage, have *model.Observed) string {
	var nodes []string
	for node := range s.OnNode {
		if n := have.Nodes[node]; n != nil && n.Online {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	return slices.Min(nodes)
}
