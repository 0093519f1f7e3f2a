//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// loadModules loads what the image brings, in its order.
func loadModules() {
	list, err := os.ReadFile("/lib/modules/order")
	if err != nil {
		return // a kernel that needs none
	}
	for _, name := range strings.Fields(string(list)) {
		report("module "+name, loadModule(filepath.Join("/lib/modules", name)))
	}
}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.FinitModule(int(f.Fd()), "", 0)
	if errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}

// onlineCPUs brings CPUs into use as they are plugged: the kernel tells that
// they are there, and leaves the rest to user space.
func onlineCPUs() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, _, err := unix.Recvfrom(fd, buf, 0)
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOBUFS) {
				continue
			}
			if err != nil {
				report("kernel events", err)
				return
			}
			// "add@/devices/system/cpu/cpu1\0…"
			head, _, _ := bytes.Cut(buf[:n], []byte{0})
			path, added := strings.CutPrefix(string(head), "add@")
			if added && strings.HasPrefix(path, "/devices/system/cpu/cpu") {
				report("plugged "+path, os.WriteFile(filepath.Join("/sys", path, "online"), []byte("1"), 0o600))
			}
		}
	}()
	return nil
}
