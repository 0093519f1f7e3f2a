package pvesim

import (
	"maps"
	"strconv"
	"strings"
	"time"
)

func storageContentRoutes() map[string]handler {
	all := map[string]handler{
		"GET /nodes/{node}/storage/{storage}/content":             listContent,
		"POST /nodes/{node}/storage/{storage}/content":            allocContent,
		"GET /nodes/{node}/storage/{storage}/content/{volume}":    readContent,
		"PUT /nodes/{node}/storage/{storage}/content/{volume}":    updateContent,
		"DELETE /nodes/{node}/storage/{storage}/content/{volume}": deleteContent,
		"POST /nodes/{node}/storage/{storage}/content/{volume}":   copyContent,
		"POST /nodes/{node}/storage/{storage}/upload":             uploadContent,
		"POST /nodes/{node}/storage/{storage}/download-url":       downloadContent,
		"GET /nodes/{node}/query-url-metadata":                    queryURL,
	}
	maps.Copy(all, pruneRoutes())
	return all
}

func listContent(c *call) (any, error) {
	st, err := c.activate(c.node(), c.params.Str("storage"))
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, item := range c.listVolumes(st, c.node(), c.params.Str("content"), c.params.Int("vmid")) {
		if c.needVolume(c.who, 0, item["volid"].(string), "") == nil {
			list = append(list, item)
		}
	}
	return list, nil
}

func allocContent(c *call) (any, error) {
	text := c.params.Str("size")
	size, factor := strings.TrimRight(text, "MG\n"), int64(1)
	switch {
	case strings.Contains(text, "M"):
		factor = 1 << 10
	case strings.Contains(text, "G"):
		factor = 1 << 20
	}
	kib, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return nil, badParam("size", "unable to parse size '%s'", text)
	}
	name, format := c.params.Str("filename"), c.params.Str("format")
	for _, f := range []string{"raw", "qcow2", "vmdk"} {
		if !strings.HasSuffix(name, "."+f) {
			continue
		}
		if format != "" && format != f {
			return nil, badParam("format", "different storage formats (%s != %s)", format, f)
		}
		format = f
	}
	volid, err := c.allocDisk(c.node(), c.params.Str("storage"), c.params.Int("vmid"), format, name, kib*factor, nil)
	if err != nil {
		return nil, err
	}
	return volid, nil
}

// volumeID is the volume that the path names; the storage may be left out of
// its id.
func (c *call) volumeID(key string) (string, error) {
	storage, volume := c.params.Str("storage"), c.params.Str(key)
	if !strings.Contains(volume, ":") {
		return storage + ":" + volume, nil
	}
	id, _, ok := splitVolID(volume)
	if !ok {
		return "", badParam("volume", "unable to parse volume ID '%s'\n", volume)
	}
	if id != storage {
		return "", badParam("volume", "storage ID mismatch (%s != %s)\n", id, storage)
	}
	return volume, nil
}

// namedVolume is the volume that the path names, for those who may see it;
// one that isn't there is nil.
func (c *call) namedVolume() (n volName, st *Storage, v *Volume, err error) {
	volid, err := c.volumeID("volume")
	if err != nil {
		return n, nil, nil, err
	}
	if err := c.needVolume(c.who, 0, volid, ""); err != nil {
		return n, nil, nil, err
	}
	if n, err = c.parseVolID(volid); err != nil {
		return n, nil, nil, err
	}
	v, _ = c.volume(c.node(), volid)
	return n, c.state.Storages[n.storage], v, nil
}

func readContent(c *call) (any, error) {
	n, st, v, err := c.namedVolume()
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, st.noSize(n)
	}
	size, format := v.Size, v.Format
	if n.kind != "images" && n.kind != "import" || n.format == "ova" || n.format == "ovf" {
		size, format = (v.Used+511)/512*512, "raw"
	}
	if size == 0 && format != "subvol" {
		return nil, die("volume '%s' has size zero", n)
	}
	used := v.Used
	if st.Type == "lvm" || st.Type == "lvmthin" {
		used = 0 // LVM isn't asked for it
	}
	out := map[string]any{"path": st.pathOf(n), "size": size, "used": used, "format": format}
	if n.kind == "backup" && st.plugin().files {
		out["notes"], out["protected"] = v.Notes, 0
		if v.Protect {
			out["protected"] = 1
		}
	}
	return out, nil
}

func updateContent(c *call) (any, error) {
	n, st, v, err := c.namedVolume()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"notes", "protected"} {
		if !c.params.Has(key) {
			continue
		}
		switch files := st.plugin().files; {
		case !files && key == "notes":
			return nil, die("volume notes are not supported for PVE::Storage::%s at /usr/share/perl5/PVE/Storage/Plugin.pm line 1.", st.perlName())
		case !files:
			return nil, die("attribute '%s' is not supported for storage type '%s'", key, st.Type)
		case n.kind != "backup" && key == "notes":
			return nil, die("only backups can have notes")
		case n.kind != "backup":
			return nil, die("only backups support attribute '%s'", key)
		case v == nil:
			continue // Proxmox writes a file beside one that isn't there
		case key == "notes":
			v.Notes = c.params.Str(key)
		default:
			if err := c.mayProtect(st, n, v); err != nil {
				return nil, err
			}
			v.Protect = c.params.Bool(key)
		}
	}
	return nil, nil
}

// mayProtect holds the limit of protected backups per guest.
func (c *call) mayProtect(st *Storage, n volName, v *Volume) error {
	if !c.params.Bool("protected") || v.Protect || n.vmid == 0 {
		return nil
	}
	limit := 5
	if text, ok := st.Conf["max-protected-backups"]; ok {
		limit = atoi(text)
	} else if c.has(c.who, "/storage/"+st.ID, "Datastore.Allocate") {
		limit = -1
	}
	if limit < 0 {
		return nil
	}
	have := 0
	for _, other := range c.space(st.ID, c.node()).Volumes {
		if other.Content == "backup" && other.Protect && other.listedFor(n.vmid) {
			have++
		}
	}
	if have >= limit {
		return die("The number of protected backups per guest is limited to %d on storage '%s'", limit, st.ID)
	}
	return nil
}

func deleteContent(c *call) (any, error) {
	volid, err := c.volumeID("volume")
	if err != nil {
		return nil, err
	}
	n, err := c.parseVolID(volid)
	if err != nil {
		return nil, err
	}
	owner, id := "", n.storage
	if n.vmid != 0 {
		owner = strconv.Itoa(n.vmid)
		id = owner + "@" + id
	}
	if n.kind == "backup" && owner != "" {
		if err := c.need(c.who, "/storage/"+n.storage, "Datastore.AllocateSpace"); err != nil {
			return nil, err
		}
		if err := c.need(c.who, "/vms/"+owner, "VM.Backup"); err != nil {
			return nil, err
		}
	} else if err := c.need(c.who, "/storage/"+n.storage, "Datastore.Allocate"); err != nil {
		return nil, err
	}
	node := c.node()
	upid := c.fork(node, "imgdel", id, c.who, func(t *task) error {
		if err := t.removeVolume(node, volid, t.logf); err != nil {
			return err
		}
		t.logf("Removed volume '%s'", volid)
		return nil
	})
	return c.awaitTask(upid, time.Duration(c.params.Int("delay"))*time.Second)
}

// awaitTask waits for a task up to the delay that the caller asked for. One
// that has ended by then is answered with nothing, or with its error.
func (c *call) awaitTask(upid string, delay time.Duration) (any, error) {
	info := c.byUPID[upid]
	for end := c.now().Add(delay); info.Running() && c.now().Before(end); {
		c.sleep(min(time.Second, end.Sub(c.now())))
	}
	switch {
	case info.Running(), delay == 0:
		return upid, nil
	case info.Exit == "OK", strings.HasPrefix(info.Exit, "WARNINGS: "):
		return nil, nil
	}
	return nil, die("%s", info.Exit)
}
