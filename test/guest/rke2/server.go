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
)

// localServer is where a control plane finds its own supervisor.
const localServer = "https://127.0.0.1:9345"

// serve is a control plane: the first one, or one that joins others.
func serve(c *config) error {
	pod, err := vipPod()
	if err != nil {
		return err
	}
	vip := pod.env("address")
	own, err := ownAddress(vip)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file("server-ca.crt")); err != nil && c.Server != "" {
		again(func() error { return c.inherit() })
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
	f := &family{ended: make(chan error, 8)}
	if err := c.etcd(f, own); err != nil {
		return err
	}
	f.start("kube-apiserver", "--etcd-servers", etcdURL, "--secure-port=6443", "--advertise-address", own, "--authorization-mode=Node,RBAC", "--allow-privileged",
		"--tls-cert-file", file("serving-kube-apiserver.crt"), "--tls-private-key-file", file("serving-kube-apiserver.key"), "--client-ca-file", file("server-ca.crt"),
		"--kubelet-client-certificate", file("client-admin.crt"), "--kubelet-client-key", file("client-admin.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", file("service.key"), "--service-account-signing-key-file", file("service.key"),
		"--service-cluster-ip-range=10.43.0.0/16", "--v=0")
	again(func() error { return api(http.MethodGet, "/readyz", "", "", nil) })
	elect := []string{"--leader-elect-lease-duration=40s", "--leader-elect-renew-deadline=30s", "--leader-elect-retry-period=5s"}
	f.start("kube-controller-manager", append(elect, "--kubeconfig", kubeconfig, "--service-account-private-key-file", file("service.key"), "--root-ca-file", file("server-ca.crt"),
		"--cluster-signing-cert-file", file("server-ca.crt"), "--cluster-signing-key-file", file("server-ca.key"), "--allocate-node-cidrs", "--cluster-cidr=10.42.0.0/16", "--v=0")...)
	f.start("kube-scheduler", append(elect, "--kubeconfig", kubeconfig, "--v=0")...)
	go func() { f.ended <- supervise(c) }()
	go pod.run(c.Name)
	if err := c.kubelet(f, localServer); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	again(func() error { return mark(c) })
	go c.watchMembers()
	return f.wait()
}

// mark says of the node what RKE2 says: that it is a control plane and a member of etcd that votes. Its finalizer has the
// others remove that member before the node goes.
func mark(c *config) error {
	const (
		roles     = `{"metadata": {"labels": {"node-role.kubernetes.io/control-plane": "true", "node-role.kubernetes.io/etcd": "true"}, "finalizers": ["` + finalizer + `"]}}`
		condition = `{"status": {"conditions": [{"type": "EtcdIsVoter", "status": "True", "reason": "MemberNotLearner", "message": "Node is a voting member of the etcd cluster"}]}}`
	)
	at := "/api/v1/nodes/" + c.Name
	return errors.Join(
		api(http.MethodPatch, at, "application/merge-patch+json", roles, nil),
		api(http.MethodPatch, at+"/status", "application/strategic-merge-patch+json", condition, nil),
	)
}

// ownAddress is the first address of the machine that isn't the VIP.
func ownAddress(vip string) (string, error) {
	list, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 || strings.HasPrefix(i.Name, "cni") {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			return "", err
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.String() != vip {
				return n.IP.String(), nil
			}
		}
	}
	return "", errors.New("the machine has no address yet")
}

// admission is what a machine that joins gets.
type admission struct {
	CA, Cert, Key string
}

// supervise lets machines with the token join, at the port where RKE2 does.
func supervise(c *config) error {
	answer := func(path string, do func(r *http.Request) (any, error)) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+c.Token {
				http.Error(w, "not the token of this cluster", http.StatusUnauthorized)
				return
			}
			got, err := do(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(got)
		})
	}
	answer("/join/{node}", func(r *http.Request) (any, error) {
		name := r.PathValue("node")
		cert, key, err := issueNode(name)
		ca, missing := os.ReadFile(file("server-ca.crt"))
		fmt.Println("joins:", name)
		return admission{string(ca), cert, key}, errors.Join(err, missing)
	})
	answer("/authority", func(*http.Request) (any, error) { return authority() })
	answer("/member/{node}/{address}", func(r *http.Request) (any, error) { return addMember(r.PathValue("node"), r.PathValue("address")) })
	answer("/promote/{node}", func(r *http.Request) (any, error) { return promote(r.PathValue("node")) })
	return http.ListenAndServeTLS(":9345", file("serving-kube-apiserver.crt"), file("serving-kube-apiserver.key"), nil)
}
