package cluster

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/model"
)

// Backup has everything needed to restore a cluster: its record, its secret and a snapshot of
// etcd. Whoever has it has the whole cluster.
type Backup struct {
	Record   Record
	Token    string
	Snapshot []byte
	Taken    time.Time // of one that was read
}

// Files in a backup.
const (
	backupRecord   = "cluster.yaml"
	backupToken    = "token"
	backupSnapshot = "etcd-snapshot"
)

// Write writes it as a compressed archive.
func (b *Backup) Write(to io.Writer, now time.Time) error {
	record, err := yaml.Marshal(b.Record)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(to)
	t := tar.NewWriter(z)
	for _, f := range []struct {
		name string
		data []byte
	}{{backupRecord, record}, {backupToken, []byte(b.Token)}, {backupSnapshot, b.Snapshot}} {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.data)), ModTime: now}); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// ReadBackup reads such an archive.
func ReadBackup(from io.Reader) (*Backup, error) {
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("it is no backup of a cluster: %w", err)
	}
	t, files := tar.NewReader(z), map[string][]byte{}
	var taken time.Time
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is no backup of a cluster, or isn't whole: %w", err)
		}
		if files[h.Name], err = io.ReadAll(t); err != nil {
			return nil, fmt.Errorf("it is no backup of a cluster, or isn't whole: %w", err)
		}
		taken = h.ModTime
	}
	b := &Backup{Taken: taken, Token: string(files[backupToken]), Snapshot: files[backupSnapshot]}
	if err := yaml.Unmarshal(files[backupRecord], &b.Record); err != nil || b.Record.File == nil || b.Token == "" || len(b.Snapshot) == 0 {
		return nil, errors.New("it is no backup of a cluster: cluster.yaml, token or etcd-snapshot is missing")
	}
	if err := b.Record.check(); err != nil {
		return nil, fmt.Errorf("it is no backup of a cluster: cluster.yaml: %w", err)
	}
	return b, nil
}

var snapshotName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)

// IsSnapshotName reports whether a snapshot can have this name: it is a part of a file's.
func IsSnapshotName(name string) bool { return snapshotName.MatchString(name) }

// Backup takes a snapshot of etcd in a control plane. It stays there, and is brought here with what
// it takes to restore it.
func (w *Work) Backup(ctx context.Context, c *Cluster, name string) (*Backup, string, error) {
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil {
		return nil, "", err
	}
	d := c.distribution()
	at := slices.IndexFunc(c.Members, func(m Member) bool {
		return m.Server() && has(nodes[m.Name], "Ready") && m.Guest.Status == model.StatusRunning
	})
	if at < 0 {
		return nil, "", ErrNoAPI
	}
	m := c.Members[at]
	w.Report.Doing(m.Name, "takes a snapshot of etcd")
	if _, err := output(ctx, w.In, m.Guest, "", d.program(), "etcd-snapshot", "save", "--name", name); err != nil {
		return nil, "", err
	}
	folder := d.data("server/db/snapshots")
	files, err := output(ctx, w.In, m.Guest, "", "ls", folder)
	if err != nil {
		return nil, "", err
	}
	file := ""
	for f := range strings.FieldsSeq(files) { // the name has the node and the time behind it
		if strings.HasPrefix(f, name+"-"+m.Name+"-") && f > file {
			file = f
		}
	}
	if file == "" {
		return nil, "", fmt.Errorf("%s: the snapshot %s isn't in %s", m.Name, name, folder)
	}
	file = path.Join(folder, file)
	w.Report.Doing(m.Name, "hands over "+file)
	b := &Backup{Record: c.Record}
	if b.Record.File, err = c.secretsOf(ctx, b.Record.File); err != nil {
		return nil, "", err
	}
	if b.Snapshot, err = readLarge(ctx, w.In, m.Guest, file); err != nil {
		return nil, "", err
	}
	if b.Token, err = tokenOf(ctx, w.In, m.Guest, d); err != nil {
		return nil, "", err
	}
	w.Report.Done(m.Name, fmt.Sprintf("snapshot of etcd, %d bytes", len(b.Snapshot)))
	return b, m.Name + ":" + file, nil
}
