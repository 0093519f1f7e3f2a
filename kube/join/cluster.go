package join

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is the Kubernetes that machines join.
type Cluster struct {
	Server string // the URL of the API server, as machines reach it
	CA     []byte // PEM
}

// Find reads the Kubernetes that machines join from the ConfigMap kube-public/cluster-info, as kubeadm makes it.
// Without one, it is the API server of config. Server, if not empty, is the URL of the API server: inside a cluster,
// config has one that machines outside can't reach.
func Find(ctx context.Context, r client.Reader, config *rest.Config, server string) (Cluster, error) {
	c, err := clusterInfo(ctx, r)
	if err != nil {
		return Cluster{}, err
	}
	if c.Server == "" && config != nil {
		c.Server = config.Host
	}
	if len(c.CA) == 0 && config != nil {
		if c.CA = config.CAData; len(c.CA) == 0 && config.CAFile != "" {
			if c.CA, err = os.ReadFile(config.CAFile); err != nil {
				return Cluster{}, fmt.Errorf("read the CA of the API server: %w", err)
			}
		}
	}
	if server != "" {
		c.Server = server
	}
	if c.Server == "" || len(c.CA) == 0 {
		return Cluster{}, errors.New("find the API server for machines: there is no ConfigMap kube-public/cluster-info, and no CA is configured")
	}
	return c, nil
}

// clusterInfo reads what kubeadm wrote for machines that join; it is empty if there is nothing.
func clusterInfo(ctx context.Context, r client.Reader) (Cluster, error) {
	var info corev1.ConfigMap
	err := r.Get(ctx, types.NamespacedName{Namespace: "kube-public", Name: "cluster-info"}, &info)
	if err != nil {
		return Cluster{}, client.IgnoreNotFound(err)
	}
	config, err := clientcmd.Load([]byte(info.Data["kubeconfig"]))
	if err != nil {
		return Cluster{}, fmt.Errorf("read the kubeconfig in the ConfigMap kube-public/cluster-info: %w", err)
	}
	for _, c := range config.Clusters {
		return Cluster{Server: c.Server, CA: c.CertificateAuthorityData}, nil
	}
	return Cluster{}, nil
}

// CAHashes returns the hashes of the CA for "kubeadm join" (discovery-token-ca-cert-hash).
func (c Cluster) CAHashes() ([]string, error) {
	var hashes []string
	for rest := c.CA; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the CA of the API server: %w", err)
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		hashes = append(hashes, "sha256:"+hex.EncodeToString(sum[:]))
	}
	if len(hashes) == 0 {
		return nil, errors.New("read the CA of the API server: there is no certificate")
	}
	return hashes, nil
}

// Kubeconfig returns the bootstrap kubeconfig of a kubelet (--bootstrap-kubeconfig), with the
// token.
func (c Cluster) Kubeconfig(t Token) ([]byte, error) {
	const name, user = "bootstrap", "kubelet-bootstrap"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.Server, CertificateAuthorityData: c.CA}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: t.Reveal()}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}
