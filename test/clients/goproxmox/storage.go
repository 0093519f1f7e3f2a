package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"

	proxmox "github.com/luthermonson/go-proxmox"

	"github.com/proxplane/proxplane/test/clients/rawapi"
)

const (
	uploaded   = "goproxmox-up.iso"
	downloaded = "goproxmox-down.iso"
)

// image is what is uploaded and downloaded: enough for several reads.
var image = bytes.Repeat([]byte("proxplane\n"), 300_000)

func (s *story) storageSteps() []step {
	return []step{
		{"list storages", s.storages},
		{"upload an ISO", s.upload},
		{"download an ISO from a URL", s.download},
		{"refuse a wrong checksum", s.wrongChecksum},
	}
}

func (s *story) storages(ctx context.Context) error {
	storages, err := s.node.Storages(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"local", "local-lvm", "nfs"} {
		if !slices.ContainsFunc(storages, func(st *proxmox.Storage) bool { return st.Name == name && st.Active == 1 }) {
			return fmt.Errorf("storage %s is not there or not active", name)
		}
	}
	if s.local, err = s.node.Storage(ctx, "local"); err != nil {
		return err
	}
	if s.local.Total == 0 {
		return fmt.Errorf("local has no size")
	}
	defined, err := s.client.ClusterStorages(ctx)
	if err != nil {
		return err
	}
	if len(defined) < 3 {
		return fmt.Errorf("%d storages are defined", len(defined))
	}
	return nil
}

func (s *story) upload(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "goproxmox")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, uploaded)
	if err := os.WriteFile(file, image, 0o600); err != nil {
		return err
	}
	// Not UploadWithHash: it sends its fields in random order, of which
	// Proxmox takes but one.
	task, err := s.local.Upload("iso", file)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.volumeSize(ctx, "local:iso/"+uploaded, len(image))
}

func (s *story) download(ctx context.Context) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(image) }))
	defer server.Close()
	sum := sha256.Sum256(image)
	task, err := s.local.DownloadURLWithHash(ctx, "iso", downloaded, server.URL+"/image.iso", hex.EncodeToString(sum[:]), "sha256")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.volumeSize(ctx, "local:iso/"+downloaded, len(image))
}

func (s *story) wrongChecksum(ctx context.Context) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(image) }))
	defer server.Close()
	other := sha256.Sum256([]byte("something else"))
	task, err := s.local.DownloadURLWithHash(ctx, "iso", "wrong.iso", server.URL+"/image.iso", hex.EncodeToString(other[:]), "sha256")
	if err := wait(ctx, task, err); err == nil {
		return fmt.Errorf("the task succeeded")
	} else if task == nil {
		return err
	}
	if _, err := s.local.ISO(ctx, "wrong.iso"); err == nil {
		return fmt.Errorf("the file is there all the same")
	}
	return nil
}

func (s *story) volumeSize(ctx context.Context, volid string, size int) error {
	var content []rawapi.Object
	if err := s.raw.Get(ctx, "/nodes/"+s.node.Name+"/storage/local/content?content=iso", &content); err != nil {
		return err
	}
	for _, c := range content {
		if c.Text("volid") == volid {
			if c.Text("size") != fmt.Sprint(size) {
				return fmt.Errorf("%s has %s bytes, expected %d", volid, c.Text("size"), size)
			}
			return nil
		}
	}
	return fmt.Errorf("%s is not on the storage", volid)
}
