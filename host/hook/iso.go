//go:build linux

package hook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/proxplane/proxplane/firstboot/isofile"
)

// maxFile is how large an Ignition file can be.
const maxFile = 16 << 20

// readISO reads files out of an image without mounting it. Those that aren't in
// it are missing.
func readISO(image *os.File, names []string) (map[string][]byte, error) {
	info, err := image.Stat()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		f, err := isofile.Find(image, info.Size(), name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if f.Size() > maxFile {
			return nil, fmt.Errorf("%s has %d bytes, more than %d", name, f.Size(), maxFile)
		}
		if files[name], err = io.ReadAll(f); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return files, nil
}
