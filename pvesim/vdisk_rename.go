package pvesim

import "strconv"

// renameVolume gives a volume to another guest, under the next free name.
func (a *actor) renameVolume(node, volid string, vmid int) (string, error) {
	st, n, _, _, err := a.findDisk(node, volid)
	if err != nil {
		return "", err
	}
	if _, err := a.activate(node, st.ID); err != nil {
		return "", err
	}
	unlock, err := a.lockStorage(node, st.ID)
	if err != nil {
		return "", err
	}
	defer unlock()
	_, _, v, sp, err := a.findDisk(node, volid)
	if err != nil {
		return "", err
	}
	if st.chained() && len(v.Snaps) > 0 {
		if st.Type == "lvm" {
			return "", die("can't rename volume '%s' - external snapshot exists", n.volname)
		}
		return "", die("we can't rename volume if a snapshot backed by a volume-chain exists")
	}
	name, err := st.freeName(sp, vmid, n.format)
	if err != nil {
		return "", err
	}
	if st.plugin().files {
		name = strconv.Itoa(vmid) + "/" + name
	}
	sp.drop(v.Name)
	v.Name, v.VMID = name, vmid
	sp.put(v)
	return st.ID + ":" + v.volname(), nil
}
