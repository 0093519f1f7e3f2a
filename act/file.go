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
	files := u.Files
	if u.Make != nil {
		var err error
		if files, err = u.Make(u.For); err != nil {
			return pve.UPID{}, fmt.Errorf("make its files: %w", err)
		}
	}
	image, err := firstboot.ISO(files)
	if err != nil {
		return pve.UPID{}, fmt.Errorf("make its image: %w", err)
	}
	return c.Storage(u.Node, u.Storage).Upload(ctx, pve.Upload{Content: "iso", Filename: u.File, Body: bytes.NewReader(image)})
}
