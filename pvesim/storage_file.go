package pvesim

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"regexp"
	"strings"
)

// newFile is a file that is about to come onto a storage, by upload or
// download.
type newFile struct {
	node    string
	storage *Storage
	content string
	name    string // normalised
	format  string // of an image to import
	ova     bool
}

var (
	isoFileRE    = regexp.MustCompile(`[^/]+\.(?i:iso|img)$`)
	vztmplFileRE = regexp.MustCompile(`[^/]+` + vztmplExt + `$`)
	importFileRE = regexp.MustCompile(safeChars + `+\.(ova|qcow2|raw|vmdk)$`)
	oddCharsRE   = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)
)

// normalizeFilename is the name that a file gets when somebody asks for this.
func normalizeFilename(name string) string {
	name = strings.TrimSuffix(name, "\n")
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	return oddCharsRE.ReplaceAllString(name, "_")
}

// asBytes is a text in which Perl sees bytes instead of characters, as in
// the names of uploaded files.
func asBytes(text string) string {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

// checkName checks that the name fits the kind of content.
func (f *newFile) checkName() error {
	switch f.content {
	case "iso":
		if !isoFileRE.MatchString(f.name) {
			return badParam("filename", "wrong file extension")
		}
	case "vztmpl":
		if !vztmplFileRE.MatchString(f.name) {
			return badParam("filename", "wrong file extension")
		}
	case "import":
		m := importFileRE.FindStringSubmatch(f.name)
		if m == nil {
			return badParam("filename", "invalid filename or wrong extension")
		}
		f.ova = m[1] == "ova"
		if !f.ova {
			f.format = m[1]
		}
	}
	return nil
}

// dest is the path of the file.
func (f *newFile) dest() string { return f.storage.dir(f.content) + "/" + f.name }

// key is the name of the volume.
func (f *newFile) key() string { return f.content + "/" + f.name }

// check looks into the bytes; path is what error texts call the file.
func (f *newFile) check(path string, r blobReader, size int64, logf func(string, ...any)) (info imageInfo, err error) {
	info = imageInfo{format: "raw", size: size}
	switch {
	case f.content == "iso":
		if _, err := checkImage(path, r, size, "", logf); err != nil {
			return info, err
		}
	case f.ova:
		return info, checkOVA(path, r, logf)
	case f.format != "":
		return checkImage(path, r, size, f.format, logf)
	}
	return info, nil
}

// putFile makes the bytes a volume, in place of one that is there already.
func (s *Sim) putFile(f *newFile, blob string, size int64, info imageInfo) {
	sp := s.space(f.storage.ID, f.node)
	if sp == nil {
		s.blobs.remove(blob)
		return
	}
	v := &Volume{Name: f.key(), Content: f.content, Format: info.format, Size: info.size, Used: size, CTime: s.now(), Blob: blob}
	if f.ova {
		v.Format = "ova"
	}
	if info.bootable && f.content == "import" {
		v.System = WithAgent
	}
	if old := sp.Volumes[v.Name]; old != nil {
		s.forget(sp, old)
	}
	sp.put(v)
}

// roomOf is how much fits where a file shall go; one that it replaces makes
// room for it.
func (s *Sim) roomOf(f *newFile) int64 {
	sp := s.space(f.storage.ID, f.node)
	if sp == nil {
		return 0 // the storage was removed meanwhile
	}
	if old := sp.Volumes[f.key()]; old != nil {
		return sp.Free() + old.Used
	}
	return sp.Free()
}

func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case "md5":
		return md5.New()
	case "sha1":
		return sha1.New()
	case "sha224":
		return sha256.New224()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return sha256.New()
}

// checksum hashes a blob; nobody waits for it.
func (a *actor) checksum(blob, algorithm string) (string, error) {
	r, err := a.blobs.open(blob)
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := newHash(algorithm)
	a.outside(func() { _, err = io.Copy(h, r) })
	return hex.EncodeToString(h.Sum(nil)), err
}

// verifyChecksum compares a file with the checksum that was given for it.
func (t *task) verifyChecksum(blob, algorithm, want string) error {
	if algorithm == "" {
		return nil
	}
	got, err := t.checksum(blob, algorithm)
	if err != nil {
		return err
	}
	if strings.EqualFold(got, want) {
		t.logf("calculating checksum...OK, checksum verified")
		return nil
	}
	t.logf("calculating checksum...")
	return die("checksum mismatch: got '%s' != expect '%s'", got, want)
}

// examine opens a blob and checks it as the file that it is to become.
func (t *task) examine(f *newFile, blob, path string, size int64) (imageInfo, error) {
	r, err := t.blobs.open(blob)
	if err != nil {
		return imageInfo{}, err
	}
	defer r.Close()
	return f.check(path, r, size, t.logf)
}

// uploadContent puts a file that came with the request onto a storage. The
// task runs on the node that the client talks to, wherever the storage is.
func uploadContent(c *call) (any, error) {
	node, storage := c.node(), c.params.Str("storage")
	st, err := c.storageOn(node, storage)
	if err != nil {
		return nil, err
	}
	up := c.upload
	switch {
	case !st.plugin().files:
		return nil, die("can't upload to storage type '%s'", st.Type)
	case up == nil:
		return nil, die("missing temporary file name")
	}
	f := &newFile{node: node, storage: st, content: c.params.Str("content"), name: normalizeFilename(asBytes(c.params.Str("filename")))}
	if err := f.checkName(); err != nil {
		return nil, err
	}
	if !st.HasContent(f.content) {
		return nil, die("storage '%s' does not support '%s' content", storage, f.content)
	}
	command := "cp -- " + up.tmp + " " + f.dest()
	if node != c.entry {
		n := c.state.Nodes[node]
		if n == nil {
			return nil, die("no such cluster node '%s'", node)
		}
		ssh := "/usr/bin/ssh -o BatchMode=yes -o HostKeyAlias=" + node + " -o UserKnownHostsFile=/etc/pve/nodes/" + node + "/ssh_known_hosts -o GlobalKnownHostsFile=none"
		if n.State != Online {
			return nil, die("can't activate storage '%s' on node '%s': command '%s %s -- /usr/sbin/pvesm status --storage %s' failed: exit code 255\n", storage, node, ssh, n.IP, storage)
		}
		command = strings.Replace(ssh, "/usr/bin/ssh", "/usr/bin/scp", 1) + " -p -- " + up.tmp + " [" + n.IP + "]:" + f.dest()
	} else if _, err := c.activate(node, storage); err != nil {
		return nil, err
	}
	up.taken = true
	algorithm, want := c.params.Str("checksum-algorithm"), c.params.Str("checksum")
	return c.fork(c.entry, "imgcopy", "", c.who, func(t *task) error {
		stored := false
		defer func() {
			if !stored {
				t.blobs.remove(up.blob)
			}
		}()
		t.logf("starting file import from: %s", up.tmp)
		if err := t.verifyChecksum(up.blob, algorithm, want); err != nil {
			return err
		}
		info, err := t.examine(f, up.blob, up.tmp, up.size)
		if err != nil {
			return err
		}
		t.logf("target node: %s", node)
		t.logf("target file: %s", f.dest())
		t.logf("file size is: %d", up.size)
		t.logf("command: %s", command)
		t.sleep(t.copyTime(up.size, f.storage.ID))
		if up.size > t.roomOf(f) {
			return die("import failed: cp: error writing '%s': No space left on device", f.dest())
		}
		t.putFile(f, up.blob, up.size, info)
		stored = true
		t.logf("finished file import successfully")
		return nil
	}), nil
}
