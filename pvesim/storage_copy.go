package pvesim

func copyContent(c *call) (any, error) {
	src, err := c.volumeID("volume")
	if err != nil {
		return nil, err
	}
	dst, err := c.volumeID("target")
	if err != nil {
		return nil, err
	}
	node, target := c.node(), c.nodeName(c.params.Str("target_node"))
	if target == "" {
		target = node
	}
	return c.fork(node, "imgcopy", "", c.who, func(t *task) error {
		t.logf("DEBUG: starting worker %s", t.info.UPID)
		if err := t.copyVolume(node, src, target, dst); err != nil {
			return err
		}
		t.logf("DEBUG: end worker %s", t.info.UPID)
		return nil
	}), nil
}

// copyVolume copies a volume as it is, under another name.
func (t *task) copyVolume(node, src, target, dst string) error {
	st, n, v, _, err := t.findDisk(node, src)
	if err != nil {
		return err
	}
	to, err := t.parseVolID(dst)
	if err != nil {
		return err
	}
	dstStorage, err := t.activate(target, to.storage)
	if err != nil {
		return err
	}
	if st.plugin().files != dstStorage.plugin().files || n.format != to.format {
		return die("cannot migrate from storage type '%s' to '%s'", st.Type, dstStorage.Type)
	}
	t.sleep(t.copyTime(v.Size, st.ID, to.storage))
	sp := t.space(to.storage, target)
	if sp == nil {
		return die("storage '%s' does not exist", to.storage)
	}
	if sp.Volumes[to.key()] != nil {
		return die("command 'pvesm import %s' failed: exit code 255", dst)
	}
	if v.Used > sp.Free() {
		return dstStorage.roomFor(sp, to, v.Used)
	}
	blob, err := t.blobs.duplicate(v.Blob, t.newBlob)
	if err != nil {
		return err
	}
	copied := &Volume{Name: to.key(), Content: v.Content, Format: v.Format, Size: v.Size, Used: v.Used, VMID: to.vmid, CTime: t.now(), System: v.System, Blob: blob}
	if v.Disk != "" {
		if err := t.copyBytes(copied, v, "", false); err != nil {
			return err
		}
	}
	sp.put(copied)
	t.logf("successfully imported '%s'", dst)
	return nil
}
