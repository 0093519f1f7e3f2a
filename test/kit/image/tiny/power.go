//go:build linux

package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
)

// Events of input devices, as the kernel writes them on 64 bits.
const (
	eventSize         = 24
	keyEvent          = 1
	powerKey, pressed = 116, 1
)

// obeyPowerButton shuts down when the power button is pressed.
func obeyPowerButton() error {
	devices, err := filepath.Glob("/dev/input/event*")
	if err != nil {
		return err
	}
	for _, path := range devices {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		go func() {
			event, le := make([]byte, eventSize), binary.LittleEndian
			for {
				if _, err := f.Read(event); err != nil {
					report(path, err)
					return
				}
				if le.Uint16(event[16:]) == keyEvent && le.Uint16(event[18:]) == powerKey && le.Uint32(event[20:]) == pressed {
					syscall.Sync()
					report("power off", syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF))
				}
			}
		}()
	}
	return nil
}
