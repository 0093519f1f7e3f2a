//go:build linux

package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Files of a kubelet.
const (
	nodeFolder     = data + "/agent"
	nodeCert       = nodeFolder + "/client-kubelet.crt"
	nodeKey        = nodeFolder + "/client-kubelet.key"
	nodeCA         = nodeFolder + "/client-ca.crt"
	nodeKubeconfig = nodeFolder + "/kubelet.kubeconfig"
	nodeConfig     = nodeFolder + "/kubelet.yaml"
	networkFile    = "/etc/cni/net.d/10-rke2.conflist"
)

// agent is a worker.
func (c *config) agent() error {
	f := &family{ended: make(chan error, 2)}
	if err := c.kubelet(f, c.Server); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	return f.wait()
}

// kubelet starts the kubelet with what it needs: containerd, a network, and a certificate from a control plane.
func (c *config) kubelet(f *family, server string) error {
	at, err := url.Parse(server)
	if err != nil {
		return err
	}
	if _, err := os.Stat(nodeCert); err != nil {
		again(func() error { return c.join(server) })
	}
	if err := writeKubeconfig(nodeKubeconfig, "https://"+at.Hostname()+":6443", nodeCA, nodeCert, nodeKey); err != nil {
		return err
	}
	settings := `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, x509: {clientCAFile: ` + nodeCA + `}}
cgroupDriver: systemd
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
staticPodPath: ` + podFolder + `
failSwapOn: false
`
	network := `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.42.0.0/24"}]]}}]}`
	for name, text := range map[string]string{nodeConfig: settings, networkFile: network} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	for _, step := range [][]string{
		{"mkdir", "-p", "/opt/cni", "/etc/containerd", podFolder}, {"ln", "-sfn", programs, "/opt/cni/bin"}, {"modprobe", "overlay"}, {"modprobe", "br_netfilter"},
		{"sh", "-c", "containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' >/etc/containerd/config.toml"}, {"systemctl", "restart", "containerd"},
	} {
		if err := command(step[0], step[1:]...); err != nil {
			return err
		}
	}
	args := []string{"--kubeconfig", nodeKubeconfig, "--config", nodeConfig, "--hostname-override", c.Name}
	if len(c.Labels) > 0 {
		args = append(args, "--node-labels", strings.Join(c.Labels, ","))
	}
	if len(c.Taints) > 0 {
		args = append(args, "--register-with-taints", strings.Join(c.Taints, ","))
	}
	for _, a := range c.KubeletArgs {
		args = append(args, "--"+a)
	}
	f.start("kubelet", args...)
	return nil
}

// join asks a control plane for a certificate.
func (c *config) join(server string) error {
	var got admission
	if err := c.supervisor(server, "/join/"+c.Name, &got); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(nodeFolder, 0o755), os.WriteFile(nodeCA, []byte(got.CA), 0o600), os.WriteFile(nodeKey, []byte(got.Key), 0o600), os.WriteFile(nodeCert, []byte(got.Cert), 0o600))
}

// supervisor asks a control plane for something, with the token. Who it is isn't known yet, as with RKE2's short tokens.
func (c *config) supervisor(server, path string, into any) error {
	req, err := http.NewRequest(http.MethodGet, server+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s: %s", server, path, res.Status, text)
	}
	return json.Unmarshal(text, into)
}
