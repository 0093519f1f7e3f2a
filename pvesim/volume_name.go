package pvesim

import (
	"regexp"
	"strconv"
	"strings"
)

// volName is a volume id taken apart.
type volName struct {
	storage string
	volname string // all after the storage: "102/base-102-disk-0.raw/120/vm-120-disk-0.qcow2"
	kind    string // images, iso, vztmpl, backup, snippets, import
	name    string // the file or volume itself: "vm-120-disk-0.qcow2"
	vmid    int    // whose disk or backup it is, 0: nobody's
	base    string // volume that a linked clone stands on: "102/base-102-disk-0.raw"
	isBase  bool
	format  string
}

func (n volName) String() string { return n.storage + ":" + n.volname }

// key is the name under which the volume is kept.
func (n volName) key() string { return volumeKey(n.volname) }

const (
	safeChars      = `[a-zA-Z0-9\-.+=_]`
	safeWithBlanks = `[ a-zA-Z0-9\-.+=_]`
	backupExt      = `\.(tgz|(?:tar|vma)(?:\.(gz|lzo|zst|bz2))?)`
	vztmplExt      = `\.(?i:tar\.(gz|xz|zst|bz2)|(tar))`
)

var (
	volIDRE     = regexp.MustCompile(`(?i)^([a-z][a-z0-9\-_.]*[a-z0-9]):(.+)$`)
	lvmNameRE   = regexp.MustCompile(`(?i)^[a-z0-9][a-z0-9\-_.]*[a-z0-9]$`)
	linkedRE    = regexp.MustCompile(`^(\d+)/(\S+)/(\d+)/(\S+)$`)
	ownedRE     = regexp.MustCompile(`^(\d+)/(\S+)$`)
	isoRE       = regexp.MustCompile(`^iso/([^/]+\.(?i:iso|img))$`)
	vztmplRE    = regexp.MustCompile(`^vztmpl/([^/]+` + vztmplExt + `)$`)
	backupRE    = regexp.MustCompile(`^backup/([^/]+` + backupExt + `)$`)
	backupVMRE  = regexp.MustCompile(`^vzdump-(openvz|lxc|qemu)-(\d+)-.+`)
	snippetRE   = regexp.MustCompile(`^snippets/([^/]+)$`)
	packedRE    = regexp.MustCompile(`^import/(` + safeWithBlanks + `+\.ova/` + safeWithBlanks + `+\.(qcow2|raw|vmdk))$`)
	importRE    = regexp.MustCompile(`^import/(` + safeWithBlanks + `+\.(ova|ovf|qcow2|raw|vmdk))$`)
	imageFileRE = regexp.MustCompile(`^(?:(vm-|base-|subvol-)(\d+)-)?[^/\s]+\.(raw|qcow2|vmdk|subvol)$`)
	thinNameRE  = regexp.MustCompile(`^(vm|base)-(\d+)-\S+$`)
	thickNameRE = regexp.MustCompile(`^vm-(\d+)-\S+$`)
	zfsNameRE   = regexp.MustCompile(`^(?:((?:base|basevol)-\d+-\S+)/)?((base|basevol|vm|subvol)-(\d+)-\S+)$`)
	iscsiNameRE = regexp.MustCompile(`^\d+\.\d+\.\d+\.([^/\s]+)$`)
	lunNameRE   = regexp.MustCompile(`^lun(\d+)$`)
	pbsNameRE   = regexp.MustCompile(`^backup/([^\s_]+)/([^\s_]+)/(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)$`)
	rbdNameRE   = regexp.MustCompile(`^(?:(base-\d+-\S+)/)?((base)?(?:vm)?-(\d+)-\S+)$`)
)

// splitVolID cuts a volume id at its first colon.
func splitVolID(volid string) (storage, volname string, ok bool) {
	m := volIDRE.FindStringSubmatch(volid)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// parseVolID takes a volume id apart, by the rules of its storage.
func (s *Sim) parseVolID(volid string) (volName, error) {
	storage, volname, ok := splitVolID(volid)
	if !ok {
		return volName{}, die("unable to parse volume ID '%s'", volid)
	}
	st := s.state.Storages[storage]
	if st == nil {
		return volName{}, die("storage '%s' does not exist", storage)
	}
	return st.parseName(volname)
}

// parseName takes the part of a volume id behind the storage apart.
func (s *Storage) parseName(volname string) (volName, error) {
	n := volName{storage: s.ID, volname: volname, kind: "images", name: volname, format: "raw"}
	switch s.Type {
	case "lvm", "lvmthin":
		return n.parseLVM(s)
	case "zfspool", "zfs":
		m := zfsNameRE.FindStringSubmatch(volname)
		if m == nil {
			return n, die("unable to parse zfs volume name '%s'", volname)
		}
		n.base, n.name, n.vmid, n.isBase = m[1], m[2], atoi(m[4]), strings.HasPrefix(m[3], "base")
		if m[3] == "subvol" || m[3] == "basevol" {
			n.format = "subvol"
		}
		return n, nil
	case "rbd":
		m := rbdNameRE.FindStringSubmatch(volname)
		if m == nil {
			return n, die("unable to parse rbd volume name '%s'", volname)
		}
		n.base, n.name, n.vmid, n.isBase = m[1], m[2], atoi(m[4]), m[3] != ""
		return n, nil
	case "iscsi", "iscsidirect":
		m := map[string]*regexp.Regexp{"iscsi": iscsiNameRE, "iscsidirect": lunNameRE}[s.Type].FindStringSubmatch(volname)
		if m == nil {
			return n, die("unable to parse iscsi volume name '%s'", volname)
		}
		n.name = m[1]
		return n, nil
	case "pbs":
		m := pbsNameRE.FindStringSubmatch(volname)
		if m == nil {
			return n, die("unable to parse PBS volume name '%s'", volname)
		}
		n.kind, n.name, n.vmid, n.format = "backup", m[1]+"/"+m[2]+"/"+m[3], atoi(m[2]), "pbs-"+m[1]
		return n, nil
	}
	return n.parseFile()
}

func (n volName) parseLVM(s *Storage) (volName, error) {
	if !lvmNameRE.MatchString(n.volname) {
		return n, die("lvm name '%s' contains illegal characters", n.volname)
	}
	if s.Type == "lvmthin" {
		m := thinNameRE.FindStringSubmatch(n.volname)
		if m == nil {
			return n, die("unable to parse lvm volume name '%s'", n.volname)
		}
		n.vmid, n.isBase = atoi(m[2]), m[1] == "base"
		return n, nil
	}
	m := thickNameRE.FindStringSubmatch(n.volname)
	if m == nil {
		return n, die("unable to parse lvm volume name '%s'", n.volname)
	}
	n.vmid = atoi(m[1])
	if strings.HasSuffix(n.volname, ".qcow2") {
		n.format = "qcow2"
	}
	return n, nil
}

// parseFile takes a name on a storage of files apart.
func (n volName) parseFile() (volName, error) {
	v := n.volname
	if m := linkedRE.FindStringSubmatch(v); m != nil {
		if _, _, err := parseImageFile(m[2]); err != nil {
			return n, err
		}
		format, isBase, err := parseImageFile(m[4])
		n.base, n.vmid, n.name, n.format, n.isBase = m[1]+"/"+m[2], atoi(m[3]), m[4], format, isBase
		return n, err
	}
	if m := ownedRE.FindStringSubmatch(v); m != nil {
		format, isBase, err := parseImageFile(m[2])
		n.vmid, n.name, n.format, n.isBase = atoi(m[1]), m[2], format, isBase
		return n, err
	}
	for _, p := range []struct {
		kind string
		re   *regexp.Regexp
	}{{"iso", isoRE}, {"vztmpl", vztmplRE}, {"backup", backupRE}, {"snippets", snippetRE}, {"import", packedRE}, {"import", importRE}} {
		m := p.re.FindStringSubmatch(v)
		if m == nil {
			continue
		}
		n.kind, n.name = p.kind, m[1]
		switch {
		case p.kind == "backup":
			if b := backupVMRE.FindStringSubmatch(m[1]); b != nil {
				n.vmid = atoi(b[2])
			}
		case p.re == packedRE:
			n.format = "ova+" + m[2]
		case p.kind == "import":
			n.format = m[2]
		}
		return n, nil
	}
	return n, die("unable to parse directory volume name '%s'", v)
}

// parseImageFile reads format and role off the name of a disk's file.
func parseImageFile(name string) (format string, isBase bool, err error) {
	m := imageFileRE.FindStringSubmatch(name)
	switch {
	case m == nil:
		return "", false, die("unable to parse volume filename '%s'", name)
	case m[1] == "" && strings.HasPrefix(name, "snap-") && strings.HasSuffix(name, ".qcow2"):
		return "", false, die("'%s' is a snapshot filename, not a volume!", name)
	}
	return m[3], strings.HasPrefix(name, "base-"), nil
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// volumePath is where the host sees a volume.
func (s *Sim) volumePath(volid string) string {
	n, err := s.parseVolID(volid)
	if err != nil {
		return volid
	}
	return s.state.Storages[n.storage].pathOf(n)
}

// pathOf is where the host sees a volume: a file or a block device.
func (s *Storage) pathOf(n volName) string {
	switch s.Type {
	case "lvm", "lvmthin":
		return "/dev/" + s.Conf["vgname"] + "/" + n.name
	case "zfspool", "zfs":
		if n.format == "subvol" {
			if m := s.Conf["mountpoint"]; m != "" {
				return m + "/" + n.name
			}
			return "/" + s.Conf["pool"] + "/" + n.name
		}
		return "/dev/zvol/" + s.Conf["pool"] + "/" + n.name
	case "rbd":
		return s.rbdPath(n.name)
	}
	dir := s.dir(n.kind)
	if n.kind != "images" {
		return dir + "/" + n.name
	}
	dir += "/" + strconv.Itoa(n.vmid)
	if s.Type == "btrfs" && n.format == "raw" {
		return dir + "/" + strings.TrimSuffix(n.name, ".raw") + "/disk.raw"
	}
	return dir + "/" + n.name
}

func (s *Storage) rbdPath(name string) string {
	pool := s.Conf["pool"]
	if pool == "" {
		pool = "rbd"
	}
	if ns := s.Conf["namespace"]; ns != "" {
		pool += "/" + ns
	}
	if s.Conf["krbd"] == "1" {
		return "/dev/rbd-pve/" + s.clusterID() + "/" + pool + "/" + name
	}
	user := s.Conf["username"]
	if user == "" {
		user = "admin"
	}
	conf := "/etc/pve/ceph.conf"
	p := "rbd:" + pool + "/" + name
	if hosts := s.Conf["monhost"]; hosts != "" {
		list := strings.Join(strings.FieldsFunc(hosts, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }), ";")
		conf = "/etc/pve/priv/ceph/" + s.ID + ".conf"
		p += ":conf=" + conf + ":mon_host=" + strings.ReplaceAll(list, ":", `\:`) + ":auth_supported=cephx"
	} else {
		p += ":conf=" + conf
	}
	return p + ":id=" + user + ":keyring=/etc/pve/priv/ceph/" + s.ID + ".keyring"
}

// clusterID stands for the id of the Ceph cluster behind an RBD storage.
func (s *Storage) clusterID() string { return "00000000-0000-4000-8000-000000000001" }
