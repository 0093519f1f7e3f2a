package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Virtiofsd is the daemon written in Rust, which Debian has from 13 on: this
// machine's own, or that of Debian 13 with the libraries that it needs.
func Virtiofsd(ctx context.Context) (program string, err error) {
	const own = "/usr/libexec/virtiofsd"
	if _, err := os.Stat(own); err == nil {
		return own, nil
	}
	const release = "trixie"
	// Its libraries are for this program only.
	const starter = `#!/bin/sh
here=$(dirname "$0")
lib=$here/usr/lib/x86_64-linux-gnu
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$here/usr/libexec/virtiofsd" "$@"
`
	dir, err := once("virtiofsd-"+key(release, starter), func(path string) error {
		debs, err := packagesOf(ctx, release, "virtiofsd", "libc6", "libcap-ng0", "libseccomp2", "libgcc-s1")
		if err != nil {
			return err
		}
		defer os.RemoveAll(debs)
		found, err := filepath.Glob(filepath.Join(debs, "*.deb"))
		if err != nil {
			return err
		}
		for _, deb := range found {
			if _, err := output(ctx, "", "dpkg-deb", "--extract", deb, path); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(path, "virtiofsd"), []byte(starter), 0o755)
	})
	return filepath.Join(dir, "virtiofsd"), err
}

// packagesOf downloads packages of a release of Debian from where this machine
// has its own from, into a folder that the caller removes.
func packagesOf(ctx context.Context, release string, names ...string) (dir string, err error) {
	out, err := output(ctx, "", "apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Label: Debian")
	if err != nil {
		return "", err
	}
	mirror, _, _ := bytes.Cut(out, []byte("\n"))
	if len(mirror) == 0 {
		return "", errors.New("apt has no lists of Debian (apt-get update makes them)")
	}
	if dir, err = os.MkdirTemp("", "debs-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	source := fmt.Sprintf("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n", mirror, release)
	if err := os.WriteFile(filepath.Join(dir, "sources.list"), []byte(source), 0o644); err != nil {
		return "", err
	}
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	apt := []string{
		"-q", "-o", "Dir::Etc::SourceList=" + filepath.Join(dir, "sources.list"), "-o", "Dir::Etc::SourceParts=-",
		"-o", "Dir::State=" + filepath.Join(dir, "state"), "-o", "Dir::State::status=/dev/null", "-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "Acquire::Languages=none", "-o", "APT::Sandbox::User=",
	}
	if _, err := output(ctx, dir, "apt-get", append(apt, "update")...); err != nil {
		return "", err
	}
	_, err = output(ctx, dir, "apt-get", append(append(apt, "download"), names...)...)
	return dir, err
}
