package cluster

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/proxplane/proxplane/model"
)

// Kubeconfig reads the administrator's kubeconfig from a control plane. It reaches the cluster through
// the VIP, and everything in it has the cluster's name, so that it can be merged with others.
func (c *Cluster) Kubeconfig(ctx context.Context) (*clientcmdapi.Config, error) {
	var errs []error
	for _, m := range c.Members {
		if !m.Server() || m.Guest.Status != model.StatusRunning {
			continue
		}
		text, err := c.in.ReadFile(ctx, m.Guest, c.KubeconfigFile())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: read its kubeconfig: %w", m.Name, err))
			continue
		}
		config, err := c.ParseKubeconfig(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		return config, nil
	}
	if len(errs) == 0 {
		return nil, fmt.Errorf("cluster %s: %w: none of them runs", c.Name, ErrNoAPI)
	}
	return nil, errors.Join(errs...)
}

// KubeconfigFile returns the path of the kubeconfig on control planes.
func (c *Cluster) KubeconfigFile() string { return c.distribution().kubeconfig() }

// ParseKubeconfig reads the kubeconfig of a control plane, for use elsewhere.
func (c *Cluster) ParseKubeconfig(text string) (*clientcmdapi.Config, error) {
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read its kubeconfig: %w", err)
	}
	return c.renamed(config)
}

// renamed is a kubeconfig with the cluster's name and the VIP.
func (c *Cluster) renamed(config *clientcmdapi.Config) (*clientcmdapi.Config, error) {
	now := config.Contexts[config.CurrentContext]
	if now == nil || config.Clusters[now.Cluster] == nil || config.AuthInfos[now.AuthInfo] == nil {
		return nil, errors.New("the kubeconfig of the control plane has no current context")
	}
	out := clientcmdapi.NewConfig()
	cluster := config.Clusters[now.Cluster]
	cluster.Server = c.APIServer()
	out.Clusters[c.Name], out.AuthInfos[c.Name] = cluster, config.AuthInfos[now.AuthInfo]
	out.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	out.CurrentContext = c.Name
	return out, nil
}

// Merge puts the cluster's entries into another kubeconfig.
func Merge(into, one *clientcmdapi.Config, use bool) {
	for name, v := range one.Clusters {
		into.Clusters[name] = v
	}
	for name, v := range one.AuthInfos {
		into.AuthInfos[name] = v
	}
	for name, v := range one.Contexts {
		into.Contexts[name] = v
	}
	if use || into.CurrentContext == "" {
		into.CurrentContext = one.CurrentContext
	}
}
