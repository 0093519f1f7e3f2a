package pve

import (
	"crypto/tls"
	"errors"
	"math"
	"time"
)

// pause is how long to wait after the nth failed try: doubling, and half of it jitter, so that
// many callers don't come back at once. random is in [0,1).
func (r Retry) pause(failed int, random float64) time.Duration {
	d := float64(r.Base) * math.Pow(2, float64(failed-1))
	d = min(d, float64(r.Max))
	return time.Duration(d/2 + d/2*random)
}

// retryable reports whether a read that failed so may work when tried again: no answer at all, or
// somebody on the way had none. A plain 500 is an answer of Proxmox, and stays.
func retryable(err error) bool {
	var certificate *tls.CertificateVerificationError
	var fingerprint *FingerprintError
	var plain tls.RecordHeaderError
	var login *LoginError
	if errors.As(err, &certificate) || errors.As(err, &fingerprint) || errors.As(err, &plain) || errors.As(err, &login) {
		return false
	}
	return errors.Is(err, ErrConnection) || errors.Is(err, ErrNodeUnreachable)
}

// Unreachable reports whether no endpoint could be reached, for a reason that may pass.
func Unreachable(err error) bool { return errors.Is(err, ErrConnection) && retryable(err) }
