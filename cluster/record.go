package cluster

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/spec/suggest"
)

// Record is what is known of a cluster: the file that it was last changed by, and the release that
// its version means. The notes of its control planes in Proxmox have it, so that nothing else has
// to be kept anywhere. There is no secret in it: see withoutSecrets.
type Record struct {
	// Generation counts changes: of several records, the one with the highest counts.
	Generation int     `json:"generation" yaml:"generation"`
	File       *File   `json:"file" yaml:"file"`
	Release    Release `json:"release" yaml:"release"`
}

// NodeRecord is the record of one machine, in its own notes.
type NodeRecord struct {
	Node    Node    `json:"node" yaml:"node"`
	Release Release `json:"release" yaml:"release"`
	// Cluster is the record of the cluster, packed; empty: the machine is a worker.
	Cluster string `json:"cluster,omitempty" yaml:"cluster,omitempty"`
}

const (
	recordOpen  = "<!-- proxplane-cluster "
	recordClose = " -->"
	// maxRecord is what fits into the notes of a machine beside the proof of its owner: Proxmox takes
	// 8 KiB.
	maxRecord = 6000
)

// ErrTooLarge is the error for a file that doesn't fit into Proxmox' notes.
var ErrTooLarge = errors.New("the file is too large for the notes of machines in Proxmox, which is where it is kept; have less in labels, addresses and charts, or take what the cluster runs from gitops")

// notes are what a machine's notes in Proxmox say: a line for people, and the record.
func (r Record) notes(n Node, runs Release) (string, error) {
	own := NodeRecord{Node: n, Release: runs}
	if n.Server() {
		var err error
		if own.Cluster, err = r.pack(); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(own)
	if err != nil {
		return "", err
	}
	// "--" would end the comment.
	body := strings.ReplaceAll(string(text), "--", `-\u002d`)
	line := fmt.Sprintf("Kubernetes cluster %s, %s. API server: https://%s:%d", r.File.Name, n.Role(), hostOf(r.File.Provider.VIP), apiPort)
	return line + "\n\n" + recordOpen + body + recordClose, nil
}

// pack makes a text of the record that any notes can have.
func (r Record) pack() (string, error) {
	var err error
	if r.File, err = r.File.withoutSecrets(); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(text); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	packed := base64.RawURLEncoding.EncodeToString(b.Bytes())
	if len(packed) > maxRecord {
		return "", ErrTooLarge
	}
	return packed, nil
}

// unpack reads it again.
func unpack(packed string) (Record, error) {
	var r Record
	raw, err := base64.RawURLEncoding.DecodeString(packed)
	if err != nil {
		return r, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return r, err
	}
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(z, most))
	if err != nil {
		return r, err
	}
	if err := yaml.Unmarshal(text, &r); err != nil {
		return r, err
	}
	return r, r.check()
}

// check finds records that nothing can be done with, which somebody has changed.
func (r Record) check() error {
	if r.File == nil {
		return errors.New("it has no file")
	}
	if r.File.Fill(); distributions[r.File.Kubernetes.Distribution] == nil {
		return fmt.Errorf("it has no distribution of Kubernetes that can be installed: %q", suggest.Shortened(r.File.Kubernetes.Distribution))
	}
	return nil
}

// parseNotes reads the record in a machine's notes; false: there is none.
func parseNotes(text string) (NodeRecord, bool) {
	var n NodeRecord
	_, rest, ok := strings.Cut(text, recordOpen)
	body, _, closed := strings.Cut(rest, recordClose)
	if !ok || !closed || json.Unmarshal([]byte(body), &n) != nil || n.Node.Name == "" {
		return NodeRecord{}, false
	}
	return n, true
}
