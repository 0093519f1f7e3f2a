package pvesim

import "strings"

// extractImage takes an image out of an archive ("local:import/x.ova/d.vmdk")
// and makes it a disk of the guest on the work storage, to be copied from.
func (a *actor) extractImage(node, volid, work string, vmid int, logf func(string, ...any)) (string, error) {
	fail := func(err error) (string, error) { return "", die("error during extraction: %v\n", err) }
	n, err := a.parseVolID(volid)
	switch {
	case err != nil:
		return "", err
	case n.kind != "import":
		return "", die("only files with content type 'import' can be extracted")
	case !strings.HasPrefix(n.format, "ova+"):
		return "", die("only files from 'ova' format can be extracted")
	}
	archive, inner, _ := strings.Cut(n.name, "/")
	st := a.state.Storages[n.storage]
	path := st.dir("import") + "/" + archive
	src, _ := a.volume(node, n.storage+":import/"+archive)
	if src == nil {
		logf("tar: %s: Cannot open: No such file or directory", path)
		return fail(die("command 'tar -x --force-local --no-same-owner -f %s %s' failed: exit code 2", path, inner))
	}
	format := strings.TrimPrefix(n.format, "ova+")
	info := imageInfo{size: src.Size, bootable: src.System != Blank}
	system := src.System
	if src.Blob != "" {
		r, err := a.blobs.open(src.Blob)
		if err != nil {
			return "", err
		}
		defer r.Close()
		if info, err = packedImage(r, inner, format); err != nil {
			logf("tar: %s: Not found in archive", inner)
			return fail(die("command 'tar -x --force-local --no-same-owner -f %s %s' failed: exit code 2", path, inner))
		}
		if system == Blank && info.bootable {
			system = WithAgent
		}
	}
	if work == "" {
		work = n.storage
	}
	unpacked, err := a.allocDisk(node, work, vmid, format, "", (info.size+1023)>>10, discardLine)
	if err != nil {
		return fail(err)
	}
	v, sp := a.volume(node, unpacked)
	if v == nil {
		return fail(die("volume '%s' does not exist", unpacked))
	}
	if used := min(src.Used, v.Size); used-v.Used <= sp.Free() {
		sp.grow(v, v.Size, max(used, v.Used))
	}
	v.System = system
	return unpacked, nil
}
