//go:build !linux

package qemu

import (
	"errors"

	"github.com/proxplane/proxplane/pvesim"
)

// Backend is for Linux only.
type Backend struct{ pvesim.Machines }

// Missing says what a backend would lack here.
func Missing() error { return errors.New("real machines need Linux") }

// New fails here.
func New(string) (*Backend, error) { return nil, Missing() }
