package robustness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/packed"
)

// imageWish is an image that a set names. In most histories it is a template that people made and that is used
// where it is. In those about images it is copied to nodes that need it, or fetched.
type imageWish struct {
	model.Image
	fetched bool
	// When it may last have been the will of anybody that templates go which are current now: it had another
	// URL, was to be used where it is only, or was deleted.
	changed time.Time
}

// newImages are the images of a set.
func (s *set) newImages() (list []*imageWish) {
	for _, name := range s.world.images {
		i := &imageWish{Image: model.Image{Owner: s.owner("VMImage", name), Template: name, NoCopies: true}}
		if s.world.pinned {
			i.Pool = goldenPool
		}
		if s.world.spread {
			i.Range, i.NoCopies = s.world.vmids, false
		}
		list = append(list, i)
	}
	if s.world.fetched != "" {
		i := &imageWish{fetched: true, Image: model.Image{
			Owner: s.owner("VMImage", s.world.fetched), Range: s.world.vmids, Storage: s.world.imageStorage,
			Options: map[string]string{"agent": "enabled=1", "cores": "1", "memory": "1024", "ostype": "l26", "scsihw": "virtio-scsi-pci"},
		}}
		i.at(1, "")
		list = append(list, i)
	}
	return list
}

// at gives a fetched image another content, packed or not.
func (i *imageWish) at(version int, packing string) {
	i.URL = fmt.Sprintf("https://images.example/v%d.qcow2", version)
	if packing != "" {
		i.URL += "." + packing
	}
	i.Checksum, i.ChecksumAlgorithm = packedSum(packing), "sha256"
}

// image is the image of that name, whether or not it is wanted now; nil: there is none.
func (s *set) image(name string) *imageWish {
	for _, i := range s.images {
		if i.Owner.Name == name {
			return i
		}
	}
	return nil
}

// changeImage changes what is wanted of an image, and reports whether it is something else now.
func (s *set) changeImage(name string, fn func(*imageWish)) bool {
	i := s.image(name)
	return i != nil && s.change(func() {
		was := i.URL
		i.changed = time.Now()
		fn(i)
		for _, w := range s.vms {
			if w.Source.Image.Name == name && i.URL != was {
				w.note()
				w.remade = true // which is done where it is allowed
			}
		}
	})
}

var sums sync.Map // of packed images, by packing

// packedSum is the checksum of the image at the URLs, as it is packed there.
func packedSum(packing string) string {
	if sum, ok := sums.Load(packing); ok {
		return sum.(string)
	}
	b := sha256.Sum256(packed.Bootable(packing))
	sum := hex.EncodeToString(b[:])
	sums.Store(packing, sum)
	return sum
}

// internet is what our processes reach: images by the endings of their names.
type internet struct{}

// RoundTrip answers.
func (internet) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	packed.Server{}.ServeHTTP(w, r)
	res := w.Result()
	res.Request = r
	return res, nil
}
