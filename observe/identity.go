package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/proxplane/proxplane/pve"
)

// Each cluster of Proxmox has an authority of its own for certificates, which it makes
// itself and all of its nodes have. By that a cluster is known, wherever it is reached.

// rootFile is the certificate of that authority.
const rootFile = "pve-root-ca.pem"

// OtherProxmoxError is the error of an observer whose endpoint is another cluster than
// expected.
type OtherProxmoxError struct {
	Want, Is string // fingerprints of root certificates
}

func (e *OtherProxmoxError) Error() string {
	return fmt.Sprintf("this is another Proxmox: its root certificate is %s, not %s", e.Is, e.Want)
}

// Identifying makes the observer read the identity of its cluster, and refuse a cluster
// other than the expected one; empty: none is refused.
func (o *Observer) Identifying(expects string) *Observer {
	o.identifies, o.expects = true, expects
	return o
}

// Require makes the observer refuse a cluster other than that one from now on; empty: it goes
// by the one that it has seen. It reports false, and changes nothing, if it has seen another one.
func (o *Observer) Require(identity string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if identity != "" && o.identity != "" && identity != o.identity {
		return false
	}
	o.expects = identity
	return true
}

// Identity returns the identity of the cluster; empty: it wasn't read yet, isn't known, or
// was refused.
func (o *Observer) Identity() string {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.identity
}

// Refused returns the identity of a cluster that was refused, since another one was
// expected.
func (o *Observer) Refused() string {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.refused
}

// unidentified reports whether the cluster has to be identified: at first, and after it couldn't be reached.
func (o *Observer) unidentified() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.identifies && !o.identified
}

// identify reads the identity of the cluster, and refuses another one than the expected.
func (o *Observer) identify(ctx context.Context) error {
	certs, err := o.client.Node("localhost").Certificates(ctx)
	if errors.Is(err, pve.ErrNotImplemented) || errors.Is(err, pve.ErrForbidden) {
		err = nil // nobody can tell
	}
	if err != nil {
		return fmt.Errorf("ask for the certificates: %w", err)
	}
	is := ""
	for _, c := range certs {
		if c.File == rootFile {
			is = c.Fingerprint
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if expected := cmp.Or(o.expects, o.identity); expected != "" && is != "" && is != expected {
		o.refused = is
		return &OtherProxmoxError{Want: expected, Is: is}
	}
	o.identity, o.refused = is, ""
	o.loads.share(is, o.among, o.client)
	return nil
}
