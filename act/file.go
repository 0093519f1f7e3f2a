package act

import (
	"context"
	"errors"
	"fmt"

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
func (a *Actor) uploadSeed(ctx context.Context, c *pve.Client, u model.UploadSeed) (pve.UPID, error) {
	if a.seed == nil {
		return pve.UPID{}, errors.New("nobody here makes drives for the first boot")
	}
	image, err := a.seed(u.Files)
	if err != nil {
		return pve.UPID{}, fmt.Errorf("make its image: %w", err)
	}
	return c.Storage(u.Node, u.Storage).Upload(ctx, pve.Upload{Content: "iso", Filename: u.File, Body: image})
}
