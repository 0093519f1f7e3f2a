package pve

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"time"
)

// Storage is a handle for a storage as one node sees it.
type Storage struct {
	c    *Client
	Node string
	Name string
}

// Storage gives a handle for a storage on a node.
func (c *Client) Storage(node, name string) Storage { return Storage{c, node, name} }

// StorageConfig is the definition of a storage, which all nodes share.
type StorageConfig struct {
	Name     string   `json:"storage"`
	Type     string   `json:"type"`    // dir, lvmthin, zfspool, nfs, rbd …
	Content  []string `json:"content"` // images, iso, snippets, import …
	Nodes    []string `json:"nodes"`   // empty: all
	Shared   bool     `json:"shared"`
	Disabled bool     `json:"disable"`
	Path     string   `json:"path"`
	Digest   string   `json:"digest"`
	// ContentDirs are the folders below Path that aren't the usual ones, by what they hold.
	ContentDirs map[string]string `json:"content-dirs"`
}

// folders are where storages that are directories hold things, unless they say otherwise.
var folders = map[string]string{"iso": "template/iso", "vztmpl": "template/cache", "snippets": "snippets", "backup": "dump", "images": "images", "rootdir": "private", "import": "import"}

// Folder returns the folder in which the storage keeps a kind of content on its nodes: iso, snippets … A storage that isn't
// a directory has none.
func (s StorageConfig) Folder(content string) (string, bool) {
	folder := cmp.Or(s.ContentDirs[content], folders[content])
	if s.Path == "" || folder == "" {
		return "", false
	}
	return path.Join(s.Path, folder), true
}

// StorageConfig reads the definition of one storage.
func (c *Client) StorageConfig(ctx context.Context, name string) (StorageConfig, error) {
	return get[StorageConfig](ctx, c, nil, "/storage/{storage}", name)
}

// StorageStatus is the state of a storage on a node. Sizes are in bytes.
type StorageStatus struct {
	Name    string   `json:"storage"`
	Type    string   `json:"type"`
	Content []string `json:"content"`
	Active  bool     `json:"active"`
	Enabled bool     `json:"enabled"`
	Shared  bool     `json:"shared"`
	Total   int64    `json:"total"`
	Used    int64    `json:"used"`
	Avail   int64    `json:"avail"`
	Formats struct {
		Default   string   `json:"default"`
		Supported []string `json:"supported"`
	} `json:"formats"` // where asked for, from PVE 8.4
}

// StorageFilter chooses storages of a node.
type StorageFilter struct {
	Content []string `pve:"content"` // those that hold one of these
	Storage string   `pve:"storage"`
	Enabled bool     `pve:"enabled"`
	Target  string   `pve:"target"` // those that this other node has too
	Formats bool     `pve:"format"` // tell about formats
}

// Storages lists the storages of the node with their state.
func (n Node) Storages(ctx context.Context, filter StorageFilter) ([]StorageStatus, error) {
	return get[[]StorageStatus](ctx, n.c, filter, "/nodes/{node}/storage", n.Name)
}

// Volume is an entry of a storage's content.
type Volume struct {
	ID        string    `json:"volid"` // local:iso/debian.iso
	Content   string    `json:"content"`
	Format    string    `json:"format"`
	Size      int64     `json:"size"`
	Used      int64     `json:"used"`
	VMID      int       `json:"vmid"`
	Parent    string    `json:"parent"` // base of a linked clone
	Created   time.Time `json:"ctime"`
	Notes     string    `json:"notes"`
	Protected bool      `json:"protected"`
}

// ContentFilter chooses volumes.
type ContentFilter struct {
	Content string `pve:"content"`
	VMID    int    `pve:"vmid"`
}

// Content lists the volumes of the storage.
func (s Storage) Content(ctx context.Context, filter ContentFilter) ([]Volume, error) {
	return get[[]Volume](ctx, s.c, filter, "/nodes/{node}/storage/{storage}/content", s.Node, s.Name)
}

// VolumeInfo is what Proxmox knows about one volume.
type VolumeInfo struct {
	Format    string `json:"format"`
	Size      int64  `json:"size"`
	Used      int64  `json:"used"`
	Path      string `json:"path"`
	Notes     string `json:"notes"`
	Protected bool   `json:"protected"`
}

// Volume reads about one volume; the id is with or without the storage's name before it.
func (s Storage) Volume(ctx context.Context, id string) (VolumeInfo, error) {
	return get[VolumeInfo](ctx, s.c, nil, "/nodes/{node}/storage/{storage}/content/{volume}", s.Node, s.Name, id)
}

// AllocOptions describe a new disk image.
type AllocOptions struct {
	VMID     int    `pve:"vmid"`
	Filename string `pve:"filename"` // vm-100-disk-1, with an extension where the storage has files
	Size     string `pve:"size"`     // 32G; a number alone is KiB
	Format   string `pve:"format"`   // raw, qcow2, subvol, vmdk
}

// Alloc makes an empty disk image, and returns the volume's id. It is done when the call
// returns.
func (s Storage) Alloc(ctx context.Context, opts AllocOptions) (volume string, err error) {
	return ask[string](ctx, s.c, request{
		method: http.MethodPost, route: "/nodes/{node}/storage/{storage}/content", args: []any{s.Node, s.Name},
		params: opts, storage: s.Name,
	})
}

// DeleteVolume removes a volume. Removing one that isn't there succeeds.
func (s Storage) DeleteVolume(ctx context.Context, id string) (UPID, error) {
	return ask[UPID](ctx, s.c, request{
		method: http.MethodDelete, route: "/nodes/{node}/storage/{storage}/content/{volume}", args: []any{s.Node, s.Name, id},
		storage: s.Name,
	})
}

// DownloadOptions say what Proxmox fetches by itself.
type DownloadOptions struct {
	URL          string `pve:"url"`
	Content      string `pve:"content"` // iso, vztmpl or import
	Filename     string `pve:"filename"`
	Checksum     string `pve:"checksum"`
	Algorithm    string `pve:"checksum-algorithm"`
	Compression  string `pve:"compression"` // gz, lzo, zst: unpack it; only for iso
	Certificates *bool  `pve:"verify-certificates"`
}

// Download lets the node fetch a file from a URL. A file of the same name is never overwritten:
// the task fails with ErrExists.
func (s Storage) Download(ctx context.Context, opts DownloadOptions) (UPID, error) {
	return ask[UPID](ctx, s.c, request{
		method: http.MethodPost, route: "/nodes/{node}/storage/{storage}/download-url", args: []any{s.Node, s.Name},
		params: opts, storage: s.Name,
	})
}

// URLMetadata is what a web server says about a file.
type URLMetadata struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"`
	MIMEType string `json:"mimetype"`
}

type urlParams struct {
	URL          string `pve:"url"`
	Certificates *bool  `pve:"verify-certificates"`
}

// URLMetadata asks the node what is at a URL; certificates false doesn't check that server's
// certificate. The URL ends up in Proxmox' log: it should hold no secret.
func (n Node) URLMetadata(ctx context.Context, url string, certificates *bool) (URLMetadata, error) {
	return get[URLMetadata](ctx, n.c, urlParams{url, certificates}, "/nodes/{node}/query-url-metadata", n.Name)
}
