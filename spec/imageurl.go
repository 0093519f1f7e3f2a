package spec

import (
	"encoding/hex"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// packed are endings of files that nobody unpacks: archives of several files, and what there is no
// well-kept library for.
var packed = []string{".zip", ".tar", ".tgz", ".txz", ".7z", ".rar"}

func (r *report) imageURL(img *model.Image, spec *Image) {
	u, err := url.Parse(spec.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.fail("url", "want a URL like https://example.com/debian.qcow2")
		return
	case u.User != nil:
		r.fail("url", "must not hold a password: Proxmox logs it")
		return
	}
	name := strings.ToLower(u.Path)
	if packing := model.Packing(spec.URL); packing != "" {
		name = strings.TrimSuffix(name, "."+packing)
	}
	switch ext := path.Ext(name); {
	case ext == ".iso":
		r.fail("url", "an .iso isn't a disk image: put it on a storage and name it in %s", inImage("iso"))
	case slices.Contains(packed, ext):
		r.fail("url", "%s isn't unpacked: give a .qcow2, .img, .raw or .vmdk, which may be packed as .xz, .bz2, .gz, .zst or .lzo, or an .ova", ext)
	case name != strings.ToLower(u.Path) && model.Packing(name) != "":
		r.fail("url", "is packed twice: give an image that is packed once, or not at all")
	}
	img.URL = spec.URL
	r.imageChecksum(img, spec)
	img.Options = imageOptions(spec.OS)
}

var ignitionVersion = regexp.MustCompile(`^3\.\d{1,2}(\.0)?$`)

// checksumDigits are the lengths of checksums in hexadecimal.
var checksumDigits = map[string]int{"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}

func (r *report) imageChecksum(img *model.Image, spec *Image) {
	sum, typ := strings.ToLower(strings.TrimSpace(spec.Checksum)), strings.ToLower(spec.ChecksumType)
	if prefix, rest, ok := strings.Cut(sum, ":"); ok && typ == "" {
		typ, sum = prefix, rest
	}
	if sum == "" {
		if typ != "" {
			r.fail("checksum", "is missing beside %s", called("checksumType"))
		}
		return
	}
	if typ == "" {
		for name, digits := range checksumDigits {
			if digits == len(sum) {
				typ = name
			}
		}
		if typ == "" {
			r.fail("checksum", "its %d digits are of no known kind of checksum", len(sum))
			return
		}
	}
	if _, ok := checksumDigits[typ]; !ok {
		r.checkWord("checksumType", typ, slices.Sorted(maps.Keys(checksumDigits))...)
		return
	}
	if _, err := hex.DecodeString(sum); err != nil || len(sum) != checksumDigits[typ] {
		r.fail("checksum", "a %s checksum has %d hexadecimal digits", typ, checksumDigits[typ])
		return
	}
	img.Checksum, img.ChecksumAlgorithm = sum, typ
}
