package pvesim

import "strings"

// storageOn finds a storage that is enabled and there on the node.
func (s *Sim) storageOn(node, storage string) (*Storage, error) {
	st := s.state.Storages[storage]
	if st == nil {
		return nil, die("storage '%s' does not exist", storage)
	}
	if st.Conf["disable"] == "1" {
		return nil, die("storage '%s' is disabled", storage)
	}
	if !st.OnNode(node) {
		return nil, die("storage '%s' is not available on node '%s'", storage, node)
	}
	return st, nil
}

// activate makes sure that a storage can be used on the node.
func (s *Sim) activate(node, storage string) (*Storage, error) {
	st, err := s.storageOn(node, storage)
	if err != nil {
		return nil, err
	}
	if st.Type != "dir" && st.Type != "btrfs" {
		return st, nil
	}
	if mp := st.mountPoint(); mp != "" && !s.state.Dirs[mp] {
		return nil, die("unable to activate storage '%s' - directory is expected to be a mount point but is not mounted: '%s'", storage, mp)
	}
	if (st.Conf["create-base-path"] == "0" || st.Conf["mkdir"] == "0" && st.Conf["create-base-path"] == "") && !s.hostDir(st.path()) {
		return nil, die("unable to activate storage '%s' - directory '%s' does not exist or is unreachable", storage, st.path())
	}
	return st, nil
}

// debianDirs are on every host.
var debianDirs = func() map[string]bool {
	all := map[string]bool{"": true, "/": true}
	for _, dir := range strings.Fields(`/bin /boot /dev /etc /etc/pve /home /lib /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp
		/usr /usr/bin /usr/lib /usr/local /usr/sbin /usr/share /var /var/backups /var/cache /var/lib /var/lib/vz /var/local /var/lock
		/var/log /var/mail /var/opt /var/run /var/spool /var/tmp`) {
		all[dir] = true
	}
	return all
}()

// hostDir reports whether a directory is there on the hosts: one of the
// world's, one that holds such, or one of every Proxmox.
func (s *Sim) hostDir(dir string) bool {
	if len(dir) > 1 {
		dir = strings.TrimRight(dir, "/")
	}
	if debianDirs[dir] || s.state.Dirs[dir] {
		return true
	}
	for d := range s.state.Dirs {
		if strings.HasPrefix(d, dir+"/") {
			return true
		}
	}
	return false
}

// mountPoint is the directory that must be mounted for the storage to work.
func (s *Storage) mountPoint() string {
	switch v := s.Conf["is_mountpoint"]; strings.ToLower(v) {
	case "", "0", "no", "off", "false":
		return ""
	case "1", "yes", "on", "true":
		return s.path()
	default:
		return v
	}
}
