package act

import (
	"bytes"
	"context"
	"fmt"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func downloadOptions(d model.Download) pve.DownloadOptions {
	return pve.DownloadOptions{
		URL: d.URL, Content: d.Content, Filename: d.File, Checksum: d.Checksum, Algorithm: d.Algorithm,
	}
}

// uploadSeed puts first-boot data onto a storage. The same file again takes the
// place of the one before.
func uploadSeed(ctx context.Context, c *pve.Client, u model.UploadSeed) (pve.UPID, error) {
	files, err := FilesOf(u.Files, u.Recipe, u.For)
	if err != nil {
		return pve.UPID{}, err
	}
	image, err := firstboot.ISO(files)
	if err != nil {
		return pve.UPID{}, fmt.Errorf("make its image: %w", err)
	}
	return c.Storage(u.Node, u.Storage).Upload(ctx, pve.Upload{Content: "iso", Filename: u.File, Body: bytes.NewReader(image)})
}

// FilesOf returns the files of first-boot data, which may depend on the VMID.
func FilesOf(files map[string][]byte, recipe *model.Recipe, vmid int) (map[string][]byte, error) {
	if recipe == nil {
		return files, nil
	}
	files, err := firstboot.Recipe(*recipe).Make(vmid)
	if err != nil {
		return nil, fmt.Errorf("make its files: %w", err)
	}
	return files, nil
}
