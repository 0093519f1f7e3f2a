package pvesim

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// WithInternet sets the transport of download-url: tests give one that
// answers itself, so that any URL can be had and nothing leaves the process. The
// default is the network.
func WithInternet(rt http.RoundTripper) Option {
	return func(o *simSettings) { o.internet = rt }
}

// client asks the outside world; it keeps no connections.
func (s *Sim) client(insecure bool) *http.Client {
	if s.internet != nil {
		return &http.Client{Transport: s.internet}
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives:     true,
		ResponseHeaderTimeout: time.Minute,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: insecure},
		DialContext:           (&net.Dialer{Timeout: time.Minute}).DialContext,
	}}
}

// Fetch fetches a file from outside for a program on the node.
func (h *Host) Fetch(url string) (*http.Response, error) {
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return h.sim.client(false).Do(q)
}

// ReadVolume gives the bytes of a file on a storage, as a node sees it: there is
// no call in Proxmox' API for that. Volumes that were made without bytes, such as
// disks, read as nothing.
func (s *Sim) ReadVolume(node, volid string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.volume(node, volid)
	if v == nil {
		return nil, fmt.Errorf("there is no volume %s on %s", volid, node)
	}
	if v.Blob == "" {
		return nil, nil
	}
	r, err := s.blobs.open(v.Blob)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
