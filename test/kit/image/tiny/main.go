//go:build linux

// Command tiny is the whole user space of the smallest guest of the tests:
// the first process, and with busybox the only program. It reads a NoCloud
// seed and does what it says (hostname, network, files, mounts, keys to log in
// with, commands), copies what fw_cfg has, brings plugged CPUs and memory into
// use, obeys the power button, offers a shell on the serial console and over
// SSH, and answers as a QEMU guest agent.
//
// The kernel's command line can say tiny.agent=off for a guest without an
// agent, tiny.agent=late for one whose agent starts when all else is done, and
// tiny.root=DEVICE for a system on a disk that is to go on, with init=PROGRAM if
// that isn't /sbin/init.
package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "tiny is the first process of a test guest, and runs nowhere else")
		os.Exit(1)
	}
	_ = os.Setenv("PATH", "/bin")
	mountAll()
	logf("started")
	loadModules()
	params := commandLine()
	if params["tiny.root"] != "" {
		report("switch to "+params["tiny.root"], switchRoot(params["tiny.root"], cmp.Or(params["init"], "/sbin/init")))
	}
	report("memory", os.WriteFile("/sys/devices/system/memory/auto_online_blocks", []byte("online_movable"), 0o600))
	report("watch for CPUs", onlineCPUs())
	report("power button", obeyPowerButton())
	if params["tiny.agent"] == "" {
		go serveAgent()
	}
	report("fw_cfg", copyFirmwareConfig("/run/fw_cfg"))
	s, err := findSeed()
	report("seed", err)
	s.apply()
	logf("done")
	report("done", os.WriteFile("/run/tiny.done", nil, 0o600))
	if params["tiny.agent"] == "late" {
		go serveAgent()
	}
	for {
		report("console", console("/dev/ttyS0"))
		time.Sleep(time.Second) // there may be no such console
	}
}

// logf writes to the kernel's console.
func logf(format string, args ...any) {
	up, _ := os.ReadFile("/proc/uptime")
	seconds, _, _ := strings.Cut(string(up), " ")
	fmt.Printf("tiny[%s] %s\n", seconds, fmt.Sprintf(format, args...))
}

// report logs what went wrong: the first process has nobody to tell.
func report(what string, err error) {
	if err != nil {
		logf("%s: %v", what, err)
	}
}

func mount(source, dir, kind, data string, flags uintptr) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(source, dir, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, dir, err)
	}
	return nil
}

func mountAll() {
	for _, m := range [][3]string{
		{"proc", "/proc", "proc"}, {"sysfs", "/sys", "sysfs"}, {"devtmpfs", "/dev", "devtmpfs"},
		{"devpts", "/dev/pts", "devpts"}, {"tmpfs", "/run", "tmpfs"}, {"tmpfs", "/tmp", "tmpfs"},
	} {
		report("start", mount(m[0], m[1], m[2], "", 0))
	}
}

// commandLine is what the kernel was started with.
func commandLine() map[string]string {
	text, err := os.ReadFile("/proc/cmdline")
	report("command line", err)
	params := map[string]string{}
	for _, word := range strings.Fields(string(text)) {
		name, value, _ := strings.Cut(word, "=")
		params[name] = value
	}
	return params
}

// run runs a program of busybox, or any other.
func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// copyFirmwareConfig puts the files that QEMU's -fw_cfg names into a folder.
func copyFirmwareConfig(to string) error {
	const from = "/sys/firmware/qemu_fw_cfg/by_name"
	return filepath.WalkDir(from+"/opt", func(path string, d os.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case d.Type()&os.ModeSymlink == 0: // a part of the names
			return nil
		}
		data, err := os.ReadFile(filepath.Join(path, "raw"))
		if err != nil {
			return err
		}
		name := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, data, 0o600)
	})
}

// console lets somebody at a terminal work until they leave.
func console(device string) error {
	tty, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	fmt.Fprintln(tty, "tiny: a shell, for tests")
	cmd := exec.Command("/bin/sh", "-i")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = []string{"PATH=/bin", "PS1=tiny# ", "TERM=linux", "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return cmd.Run()
}

// switchRoot goes on with the system on a disk.
func switchRoot(device, init string) error {
	const root = "/sysroot"
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, err := os.Stat(device); err == nil {
			break
		} else if time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := mount(device, root, "ext4", "", syscall.MS_NOATIME); err != nil {
		return err
	}
	for _, dir := range []string{"/dev", "/proc", "/sys", "/run"} {
		if err := syscall.Mount(dir, root+dir, "", syscall.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", dir, err)
		}
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err != nil {
		return err
	}
	if err := syscall.Chroot("."); err != nil {
		return err
	}
	return syscall.Exec(init, []string{init}, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TERM=linux"})
}
