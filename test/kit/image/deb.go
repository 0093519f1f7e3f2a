package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Package gets a Debian package of this machine's release into the cache.
func Package(ctx context.Context, name string) (string, error) {
	sum, err := checksum(ctx, name)
	if err != nil {
		return "", err
	}
	return once(fmt.Sprintf("%s-%s.deb", name, sum[:12]), func(path string) error {
		work, err := os.MkdirTemp(filepath.Dir(path), "deb-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		if _, err := output(ctx, work, "apt-get", "download", "-q", name); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(work, "*.deb"))
		if err != nil || len(found) != 1 {
			return errors.Join(err, fmt.Errorf("apt-get download %s left %d packages", name, len(found)))
		}
		return os.Rename(found[0], path)
	})
}

// checksum is that of the package that would be installed.
func checksum(ctx context.Context, name string) (string, error) {
	sums, err := checksums(ctx, name)
	return sums[name], err
}

// checksums are those of several packages, by their names. apt reads its lists anew in each process, which takes a second.
func checksums(ctx context.Context, names ...string) (map[string]string, error) {
	out, err := output(ctx, "", "apt-cache", append([]string{"show", "--no-all-versions"}, names...)...)
	if err != nil {
		return nil, err
	}
	sums, of := map[string]string{}, ""
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "Package: "); ok {
			of = strings.TrimSpace(name)
		}
		if sum, ok := strings.CutPrefix(line, "SHA256: "); ok {
			sums[of] = strings.TrimSpace(sum)
		}
	}
	for _, name := range names {
		if sums[name] == "" {
			return nil, fmt.Errorf("apt-cache show %s says no checksum", name)
		}
	}
	return sums, nil
}

// depends is the first package of this kind that another one needs.
func depends(ctx context.Context, name, prefix string) (string, error) {
	out, err := output(ctx, "", "apt-cache", "depends", name)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(out), "\n") {
		if dep, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok && strings.HasPrefix(dep, prefix) {
			return dep, nil
		}
	}
	return "", fmt.Errorf("%s needs no %s…", name, prefix)
}

// files reads those files of a package that are wanted, by their names
// without a leading slash.
func files(ctx context.Context, deb string, wanted func(name string) bool) (map[string][]byte, error) {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	archive := tar.NewReader(out)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(deb), err), cmd.Wait())
		}
		name := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg || !wanted(name) {
			continue
		}
		var data bytes.Buffer
		if _, err := io.Copy(&data, archive); err != nil {
			return nil, errors.Join(err, cmd.Wait())
		}
		found[name] = data.Bytes()
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("dpkg-deb %s: %w", filepath.Base(deb), err)
	}
	return found, nil
}
