//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// staticPod is what is read of kube-vip's static pod.
type staticPod struct {
	Spec struct {
		HostAliases []struct {
			IP        string   `json:"ip"`
			Hostnames []string `json:"hostnames"`
		} `json:"hostAliases"`
		Containers []struct {
			Args []string `json:"args"`
			Env  []struct {
				Name, Value string
				ValueFrom   *struct {
					FieldRef struct {
						FieldPath string `json:"fieldPath"`
					} `json:"fieldRef"`
				} `json:"valueFrom"`
			} `json:"env"`
			Mounts []struct{ Name, MountPath string } `json:"volumeMounts"`
		} `json:"containers"`
		Volumes []struct {
			Name     string
			HostPath struct{ Path string } `json:"hostPath"`
		} `json:"volumes"`
	} `json:"spec"`
}

// vipPod reads it.
func vipPod() (*staticPod, error) {
	name := filepath.Join(podFolder, "kube-vip.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pod := &staticPod{}
	if err := yaml.Unmarshal(text, pod); err != nil {
		return nil, err
	}
	if len(pod.Spec.Containers) != 1 || pod.env("address") == "" {
		return nil, fmt.Errorf("%s names no address", name)
	}
	return pod, nil
}

// env is a variable of its container.
func (p *staticPod) env(name string) string {
	for _, e := range p.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// run does with the pod what a kubelet does, with a process in the place of a container: its files and names of hosts are
// there, its program runs with its arguments and variables, and is started again when it ends.
func (p *staticPod) run(node string) {
	c := p.Spec.Containers[0]
	var env []string
	for _, e := range c.Env {
		if e.ValueFrom != nil && e.ValueFrom.FieldRef.FieldPath == "spec.nodeName" {
			e.Value = node
		}
		env = append(env, e.Name+"="+e.Value)
	}
	again(p.prepare)
	for {
		cmd := program("kube-vip", c.Args...)
		cmd.Env = append(os.Environ(), env...)
		fmt.Println("kube-vip has ended:", cmd.Run())
		time.Sleep(2 * time.Second)
	}
}

// prepare has the files and names of hosts that the container has.
func (p *staticPod) prepare() error {
	for _, m := range p.Spec.Containers[0].Mounts {
		for _, v := range p.Spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(m.MountPath), 0o755); err != nil {
				return err
			}
			if err := command("ln", "-sfn", v.HostPath.Path, m.MountPath); err != nil {
				return err
			}
		}
	}
	const hosts = "/etc/hosts"
	text, err := os.ReadFile(hosts)
	if err != nil {
		return err
	}
	for _, a := range p.Spec.HostAliases {
		if line := a.IP + " " + strings.Join(a.Hostnames, " ") + "\n"; !strings.Contains(string(text), line) {
			text = append(text, line...)
		}
	}
	return os.WriteFile(hosts, text, 0o644)
}
