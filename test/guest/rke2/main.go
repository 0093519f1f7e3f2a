//go:build linux

// Command rke2 stands in for RKE2 in real guests of the tests: it is fetched, verified, unpacked and started
// as a release of RKE2 is, reads the same config.yaml, and has the same files, ports and services. What it
// starts are the real programs of Kubernetes, etcd and kube-vip, as processes instead of static pods, since no
// images of containers can be had. Members of etcd talk to each other without TLS, and programs wait longer for
// each other than RKE2 has them wait: the machines are emulated.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// Places that RKE2 has, too.
const (
	configFile = "/etc/rancher/rke2/config.yaml"
	kubeconfig = "/etc/rancher/rke2/rke2.yaml"
	data       = "/var/lib/rancher/rke2"
	certs      = data + "/server/tls"
	etcdData   = data + "/server/db/etcd"
	podFolder  = data + "/agent/pod-manifests"
	// programs is where the archive has what RKE2 takes out of images.
	programs = "/usr/local/share/rke2/bin"
)

// config is what first-boot data say.
type config struct {
	Token       string   `json:"token"`
	Server      string   `json:"server"`
	Name        string   `json:"node-name"`
	SANs        []string `json:"tls-san"`
	Labels      []string `json:"node-label"`
	Taints      []string `json:"node-taint"`
	KubeletArgs []string `json:"kubelet-arg"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rke2:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var c config
	from := configFile
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		file, is := strings.CutPrefix(a, "--config=")
		if is {
			from = file
		}
		return is
	})
	text, err := os.ReadFile(from)
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	if err != nil {
		return err
	}
	line := strings.Join(args, " ")
	switch line {
	case "server":
		return serve(&c)
	case "agent":
		return c.agent()
	case "certificate rotate":
		return rotate()
	}
	if name, ok := strings.CutPrefix(line, "etcd-snapshot save --name "); ok {
		return c.snapshot(name)
	}
	if snapshot, ok := strings.CutPrefix(line, "server --cluster-reset --cluster-reset-restore-path="); ok {
		return c.reset(snapshot)
	}
	return fmt.Errorf("the stand-in doesn't know %q", args)
}

// family are the programs that a node runs. When one ends, all do, and systemd starts the node again.
type family struct{ ended chan error }

// program is one of them, with its output in the journal.
func program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(programs, name), args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	fmt.Println("starting", name)
	return cmd
}

// start starts one of them.
func (f *family) start(name string, args ...string) {
	cmd := program(name, args...)
	if err := cmd.Start(); err != nil {
		f.ended <- fmt.Errorf("start %s: %w", name, err)
		return
	}
	go func() {
		if err := cmd.Wait(); err != nil {
			f.ended <- fmt.Errorf("%s has ended: %w", name, err)
			return
		}
		f.ended <- fmt.Errorf("%s has ended", name)
	}()
}

// wait waits until one ends, or somebody stops the service.
func (f *family) wait() error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	select {
	case err := <-f.ended:
		return err
	case <-stop:
		return nil
	}
}

// command runs a program to its end.
func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// again does something until it works.
func again(do func() error) {
	for {
		err := do()
		if err == nil {
			return
		}
		fmt.Println(err)
		time.Sleep(2 * time.Second)
	}
}

// ready tells systemd that the service has started.
func ready() error { return command("systemd-notify", "--ready", fmt.Sprintf("--pid=%d", os.Getpid())) }
