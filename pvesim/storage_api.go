package pvesim

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// storageRoutes are the storages and what is on them.
func storageRoutes() map[string]handler {
	all := map[string]handler{
		"GET /storage":              listStorages,
		"POST /storage":             createStorage,
		"GET /storage/{storage}":    readStorage,
		"PUT /storage/{storage}":    updateStorage,
		"DELETE /storage/{storage}": deleteStorage,
	}
	maps.Copy(all, storageStatusRoutes())
	maps.Copy(all, storageContentRoutes())
	return all
}

// readable are the privileges of which one lets people see a storage.
var readable = []string{"Datastore.Audit", "Datastore.AllocateSpace"}

func listStorages(c *call) (any, error) {
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Storages)) {
		st := c.state.Storages[id]
		if !c.hasAny(c.who, "/storage/"+id, readable...) || c.params.Has("type") && c.params.Str("type") != st.Type {
			continue
		}
		list = append(list, c.storageEntry(st))
	}
	return list, nil
}

// storage finds the storage that the path names.
func (c *call) storage() (*Storage, error) {
	id := c.params.Str("storage")
	if st := c.state.Storages[id]; st != nil {
		return st, nil
	}
	return nil, die("storage '%s' does not exist", id)
}

func readStorage(c *call) (any, error) {
	st, err := c.storage()
	if err != nil {
		return nil, err
	}
	return c.storageEntry(st), nil
}

// storageParams are the parameters that go into storage.cfg; secrets don't.
func (c *call) storageParams(typ string, besides ...string) map[string]string {
	out := map[string]string{}
	for k, v := range c.params {
		text, ok := v.(string)
		if !ok || slices.Contains(besides, k) || slices.Contains(storageTypes[typ].secret, k) {
			continue
		}
		out[k] = text
	}
	return out
}

func createStorage(c *call) (any, error) {
	id, typ := c.params.Str("storage"), c.params.Str("type")
	in := c.storageParams(typ, "storage", "type")
	if in["nodes"] == "" {
		delete(in, "nodes")
	}
	conf, err := c.checkStorageConfig(id, typ, in, true)
	if err != nil {
		return nil, err
	}
	fail := func(err error) error { return die("create storage failed: %v", err) }
	if c.state.Storages[id] != nil {
		return nil, fail(die("storage ID '%s' already defined", id))
	}
	st := &Storage{ID: id, Type: typ, Conf: conf}
	if base := conf["base"]; base != "" {
		if err := c.checkBaseStorage(base); err != nil {
			return nil, fail(err)
		}
	}
	if typ == "pbs" && c.params.Has("master-pubkey") && !c.params.Has("encryption-key") {
		return nil, fail(die("'master-pubkey' can only be used together with 'encryption-key'"))
	}
	secrets, err := c.storageSecrets(typ, conf)
	if err != nil {
		return nil, fail(err)
	}
	keepSection(conf)
	c.state.Storages[id] = st
	if st.Conf["disable"] != "1" && st.OnNode(c.entry) {
		if _, err := c.activate(c.entry, id); err != nil {
			delete(c.state.Storages, id)
			return nil, fail(err)
		}
	}
	c.forgetForeign(st)
	c.storagesWritten()
	return storageWritten(st, secrets), nil
}

// storageWritten is the answer to who made or changed a storage.
func storageWritten(st *Storage, secrets map[string]any) map[string]any {
	out := map[string]any{"storage": st.ID, "type": st.Type}
	if secrets != nil {
		out["config"] = secrets
	}
	return out
}

// checkBaseStorage checks what an LVM storage is to stand on.
func (c *call) checkBaseStorage(volid string) error {
	id, _, _ := splitVolID(volid)
	base := c.state.Storages[id]
	if base == nil {
		return die("base storage ID '%s' does not exist", id)
	}
	if base.Type != "iscsi" {
		return die("unsupported base type '%s' at /usr/share/perl5/PVE/Storage/LVMPlugin.pm line 1.", base.Type)
	}
	return nil
}

// forgetForeign drops what an earlier storage of the same name held when the
// new one is somewhere else; what is in the same place is there again.
func (s *Sim) forgetForeign(st *Storage) {
	for key, sp := range s.state.Spaces {
		if key.Storage == st.ID && sp.Was != "" && sp.Was != st.location() {
			for _, v := range sp.Volumes {
				if v.Blob != "" {
					s.blobs.remove(v.Blob)
				}
			}
			delete(s.state.Spaces, key)
		}
	}
}

func updateStorage(c *call) (any, error) {
	fail := func(err error) error { return die("update storage failed: %v", err) }
	if d := c.params.Str("digest"); d != "" && d != c.storageDigest() {
		return nil, fail(die("detected modified configuration - file changed by other user? Try again."))
	}
	st, err := c.storage()
	if err != nil {
		return nil, fail(err)
	}
	remove := schema.SplitList(c.params.Str("delete"))
	conf, err := c.checkStorageConfig(st.ID, st.Type, c.storageParams(st.Type, "storage", "digest", "delete"), false)
	if err != nil {
		return nil, fail(err)
	}
	opts := c.optionsOf(st.Type)
	for _, k := range remove {
		opt, ok := opts[k]
		switch _, set := conf[k]; {
		case !ok:
			return nil, fail(die("no such option '%s'", k))
		case opt.required:
			return nil, fail(die("unable to delete required option '%s'", k))
		case opt.fixed:
			return nil, fail(die("unable to delete fixed option '%s'", k))
		case set:
			return nil, fail(die("cannot set and delete property '%s' at the same time!", k))
		}
	}
	if err := c.keepsChain(st, conf, remove); err != nil {
		return nil, fail(err)
	}
	next := maps.Clone(st.Conf)
	for _, k := range remove {
		delete(next, k)
	}
	maps.Copy(next, conf)
	secrets, err := c.storageSecrets(st.Type, next)
	if err != nil {
		return nil, fail(err)
	}
	st.Conf = keepSection(next)
	if st.Conf["nodes"] == "" || st.ID == "local" {
		delete(st.Conf, "nodes")
	}
	c.storagesWritten()
	return storageWritten(st, secrets), nil
}

// keepsChain refuses to turn chains of snapshots off while an LVM storage
// holds disks that need them.
func (c *call) keepsChain(st *Storage, conf map[string]string, remove []string) error {
	off := slices.Contains(remove, "snapshot-as-volume-chain") || conf["snapshot-as-volume-chain"] == "0"
	if st.Type != "lvm" || !st.chained() || !off {
		return nil
	}
	for key, sp := range c.state.Spaces {
		if key.Storage != st.ID {
			continue
		}
		for _, v := range sp.Volumes {
			if v.Format == "qcow2" {
				return die("%s - cannot disable 'snapshot-as-volume-chain' while a qcow2 image exists", st.ID)
			}
		}
	}
	return nil
}

func deleteStorage(c *call) (any, error) {
	st, err := c.storage()
	if err != nil {
		return nil, die("delete storage failed: %v", err)
	}
	for _, other := range c.state.Storages {
		if strings.HasPrefix(other.Conf["base"], st.ID+":") {
			return nil, die("delete storage failed: can't remove storage - storage is used as base of another storage")
		}
	}
	for key, sp := range c.state.Spaces {
		if key.Storage == st.ID {
			sp.Was = st.location()
		}
	}
	delete(c.state.Storages, st.ID)
	c.storagesWritten()
	c.removeStorageAccess(st.ID)
	return nil, nil
}
