package ssh

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Kinds of errors.
var (
	ErrUnreachable    = errors.New("can't be reached")
	ErrHostKeyUnknown = errors.New("the host key isn't known")
	ErrHostKeyChanged = errors.New("the host key has changed")
	ErrAuth           = errors.New("the login was refused")
	ErrKey            = errors.New("the private key can't be used")
	ErrNoSpace        = errors.New("no space is left")
	ErrLost           = errors.New("the connection broke")
)

var (
	// errNoSuchKey: the other end has no host key of the kinds that were asked for.
	errNoSuchKey = errors.New("the host has no key of the kind that is known")
	// errOtherFamily: the key isn't the pinned one, but another one may be.
	errOtherFamily = fmt.Errorf("%w: none of its keys is the pinned one", ErrHostKeyChanged)
)

// handshakeError tells kinds apart. The library has texts only.
func handshakeError(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "unable to authenticate"):
		return fmt.Errorf("%w: none of the keys given is accepted", ErrAuth)
	case strings.Contains(text, "no common algorithm for host key"):
		return errNoSuchKey
	case broken(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	default:
		return err
	}
}

// broken reports whether an error means that the connection is of no use any more.
func broken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.As(err, &op)
}

// codes of the protocol that the library has no errors for.
const (
	codeFailure  = 4
	codeNoSpace  = 14
	codeNoQuota  = 15
	reasonNoRoom = "No space left on device" // as servers say it that send texts
)

// noRoom reports whether a file couldn't be written for want of space. Most servers
// say just "failure" then.
func noRoom(err error) (sure, maybe bool) {
	var status *sftp.StatusError
	if !errors.As(err, &status) {
		return false, false
	}
	sure = status.Code == codeNoSpace || status.Code == codeNoQuota || strings.Contains(strings.ToLower(status.Error()), strings.ToLower(reasonNoRoom))
	return sure, status.Code == codeFailure
}

// explain puts words to an error of SFTP.
func explain(err error) error {
	var status *sftp.StatusError
	var exit *ssh.ExitMissingError
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return err
	case broken(err), errors.As(err, &exit):
		return fmt.Errorf("%w: %w", ErrLost, err)
	case errors.As(err, &status) && strings.Contains(status.Error(), `"Failure"`):
		return fmt.Errorf("the other side says no more than that it failed: %w", err)
	}
	return err
}
