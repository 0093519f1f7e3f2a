//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// serve is the control plane.
func serve(c *config) error {
	if c.Server != "" {
		return errors.New("the stand-in knows one control plane only")
	}
	vip, err := vipOf()
	if err != nil {
		return err
	}
	device, own, err := ownAddress(vip)
	if err != nil {
		return err
	}
	if err := issueAll(c, own, vip); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(data, "bin"), 0o755); err != nil {
		return err
	}
	if err := command("ln", "-sfn", filepath.Join(programs, "kubectl"), filepath.Join(data, "bin/kubectl")); err != nil {
		return err
	}
	// As kube-vip does it: an address of its own, on the same card.
	if err := command("ip", "addr", "replace", vip+"/32", "dev", device); err != nil {
		return err
	}
	f := &family{ended: make(chan error, 8)}
	f.start("etcd", "--data-dir", etcdData, "--name", c.Name, "--listen-client-urls", etcdURL, "--advertise-client-urls", etcdURL,
		"--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL, "--initial-cluster", c.Name+"="+peerURL, "--log-level=warn")
	f.start("kube-apiserver", "--etcd-servers", etcdURL, "--secure-port=6443", "--advertise-address", own, "--authorization-mode=Node,RBAC", "--allow-privileged",
		"--tls-cert-file", file("serving-kube-apiserver.crt"), "--tls-private-key-file", file("serving-kube-apiserver.key"), "--client-ca-file", file("server-ca.crt"),
		"--kubelet-client-certificate", file("client-admin.crt"), "--kubelet-client-key", file("client-admin.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", file("service.key"), "--service-account-signing-key-file", file("service.key"),
		"--service-cluster-ip-range=10.43.0.0/16", "--v=0")
	again(func() error { return kubectl("get", "--raw", "/readyz") })
	f.start("kube-controller-manager", "--kubeconfig", kubeconfig, "--leader-elect=false", "--service-account-private-key-file", file("service.key"), "--root-ca-file", file("server-ca.crt"),
		"--cluster-signing-cert-file", file("server-ca.crt"), "--cluster-signing-key-file", file("server-ca.key"), "--allocate-node-cidrs", "--cluster-cidr=10.42.0.0/16", "--v=0")
	f.start("kube-scheduler", "--kubeconfig", kubeconfig, "--leader-elect=false", "--v=0")
	go func() { f.ended <- supervise(c) }()
	if err := c.kubelet(f); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	again(func() error { return mark(c) })
	return f.wait()
}

// Where etcd is reached.
const (
	etcdURL = "http://127.0.0.1:2379"
	peerURL = "http://127.0.0.1:2380"
)

// mark says of the node what RKE2 and kube-vip say: that it is a control plane, a member of etcd, and holds the VIP.
func mark(c *config) error {
	const condition = `{"status": {"conditions": [{"type": "EtcdIsVoter", "status": "True", "reason": "MemberNotLearner", "message": "Node is a voting member of the etcd cluster"}]}}`
	if err := errors.Join(
		kubectl("label", "--overwrite", "node", c.Name, "node-role.kubernetes.io/control-plane=true", "node-role.kubernetes.io/etcd=true"),
		kubectl("patch", "node", c.Name, "--subresource=status", "--type=strategic", "-p", condition),
	); err != nil {
		return err
	}
	lease := filepath.Join(data, "lease.yaml")
	text := fmt.Sprintf("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: plndr-cp-lock, namespace: kube-system}, spec: {holderIdentity: %s}}\n", c.Name)
	if err := os.WriteFile(lease, []byte(text), 0o600); err != nil {
		return err
	}
	return kubectl("apply", "-f", lease)
}

// vipOf is the address that kube-vip's manifest names.
func vipOf() (string, error) {
	text, err := os.ReadFile(filepath.Join(podFolder, "kube-vip.yaml"))
	if err != nil {
		return "", err
	}
	var pod struct {
		Spec struct {
			Containers []struct {
				Env []struct{ Name, Value string } `json:"env"`
			} `json:"containers"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &pod); err != nil {
		return "", err
	}
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == "address" {
				return e.Value, nil
			}
		}
	}
	return "", errors.New("kube-vip's manifest names no address")
}

// ownAddress is the first address of the machine that isn't the VIP, with its network card.
func ownAddress(vip string) (device, address string, err error) {
	list, err := net.Interfaces()
	if err != nil {
		return "", "", err
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 || strings.HasPrefix(i.Name, "cni") {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			return "", "", err
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.String() != vip {
				return i.Name, n.IP.String(), nil
			}
		}
	}
	return "", "", errors.New("the machine has no address yet")
}

// admission is what a machine that joins gets.
type admission struct {
	CA, Cert, Key string
}

// supervise lets machines with the token join, at the port where RKE2 does.
func supervise(c *config) error {
	http.HandleFunc("/join/{node}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+c.Token {
			http.Error(w, "not the token of this cluster", http.StatusUnauthorized)
			return
		}
		name := r.PathValue("node")
		cert, key, err := issueNode(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		ca, err := os.ReadFile(file("server-ca.crt"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Println("joins:", name)
		_ = json.NewEncoder(w).Encode(admission{string(ca), cert, key})
	})
	return http.ListenAndServeTLS(":9345", file("serving-kube-apiserver.crt"), file("serving-kube-apiserver.key"), nil)
}
