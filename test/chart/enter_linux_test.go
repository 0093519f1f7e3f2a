package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// asPod has the test's own binary enter a pod, and become another program there.
const asPod = "PROXPLANE_TEST_POD"

// needed are the capabilities that entering takes, in namespaces of one's own.
var needed = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP}

func init() {
	if root := os.Getenv(asPod); root != "" {
		fmt.Fprintln(os.Stderr, enterPod(root, os.Getenv(asPod+"_SPEC")))
		os.Exit(1)
	}
}

// enterPod makes a root of the files in a folder, mounts the volumes of a pod, gives up
// all rights, and becomes the program that the arguments name. It only returns when
// something fails.
func enterPod(files, spec string) error {
	runtime.LockOSThread() // rights are those of a thread
	var pod corev1.PodSpec
	if err := json.Unmarshal([]byte(spec), &pod); err != nil {
		return err
	}
	root, err := newRoot(files, pod)
	if err != nil {
		return err
	}
	if err := unix.Chroot(root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := surrender(); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, asPod) {
			env = append(env, e)
		}
	}
	return syscall.Exec(os.Args[0], os.Args, env)
}

// newRoot copies files into a file system in memory, which nobody can write to
// afterwards but for the volumes of the pod.
func newRoot(files string, pod corev1.PodSpec) (string, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("keep mounts apart: %w", err)
	}
	const root = "/tmp"
	inside, err := os.OpenRoot(files) // before the file system hides them
	if err != nil {
		return "", err
	}
	defer inside.Close()
	source := inside.FS()
	if err := unix.Mount("image", root, "tmpfs", 0, "mode=0755"); err != nil {
		return "", fmt.Errorf("mount a root: %w", err)
	}
	if err := os.CopyFS(root, source); err != nil {
		return "", err
	}
	if err := unix.Mount("image", root, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return "", fmt.Errorf("make the root read-only: %w", err)
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name != m.Name {
				continue
			}
			if err := unix.Mount(v.Name, filepath.Join(root, m.MountPath), "tmpfs", 0, fmt.Sprintf("size=%d", v.EmptyDir.SizeLimit.Value())); err != nil {
				return "", fmt.Errorf("mount %s: %w", m.MountPath, err)
			}
		}
	}
	return root, nil
}

// surrender gives up all capabilities, for good.
func surrender() error {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL { // an older kernel knows fewer
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capset(&header, &none[0])
}
