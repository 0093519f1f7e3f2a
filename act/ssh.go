package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// ErrNoSSH is the error for an action that Proxmox has no API for, without a login to
// nodes.
var ErrNoSSH = errors.New("it isn't known how to log in to nodes by SSH")

// OverSSH sets the login to nodes for files that Proxmox has no API for; nil: none.
func (a *Actor) OverSSH(hosts *ssh.Hosts) *Actor {
	a.hosts = hosts
	return a
}

// snippetFiles are the files of first-boot data that snippets stand for.
var snippetFiles = map[string]string{"user": firstboot.UserDataFile, "meta": firstboot.MetaDataFile, "network": firstboot.NetworkConfigFile}

// uploadSnippets writes snippets into the folder that a storage has on a node.
// They may hold secrets, and only root has to read them.
func (a *Actor) uploadSnippets(ctx context.Context, c *pve.Client, u model.UploadSnippets) error {
	if a.hosts == nil {
		return ErrNoSSH
	}
	files, err := FilesOf(u.Files, u.Recipe, u.For)
	if err != nil {
		return err
	}
	conn, err := Login(ctx, c, a.hosts, u.Node)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, part := range slices.Sorted(maps.Keys(u.Volumes)) {
		file, err := snippetPath(ctx, c, u.Volumes[part])
		if err != nil {
			return err
		}
		if err := conn.MkdirAll(ctx, path.Dir(file), 0o755); err != nil {
			return err
		}
		if err := conn.WriteFile(ctx, file, files[snippetFiles[part]], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Login connects to a node, at its address in the manifests or in the cluster's status.
func Login(ctx context.Context, c *pve.Client, hosts *ssh.Hosts, node string) (*ssh.Conn, error) {
	if hosts.Addresses[node] != "" {
		return hosts.Dial(ctx, node, "")
	}
	members, err := c.Cluster().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the address of %s: %w", node, err)
	}
	for _, m := range members {
		if m.Type == "node" && m.Name == node && m.IP != "" {
			return hosts.Dial(ctx, node, m.IP)
		}
	}
	return nil, fmt.Errorf("the cluster doesn't tell the address of %s: %w", node, ssh.ErrUnreachable)
}

// snippetPath returns where a snippet is on a node.
func snippetPath(ctx context.Context, c *pve.Client, volume string) (string, error) {
	storage, name, _ := strings.Cut(volume, ":snippets/")
	if !strings.HasPrefix(name, model.SeedFiles) || path.Base(name) != name {
		return "", fmt.Errorf("%q isn't of the names that we give: %w", volume, ErrNotOurs)
	}
	s, err := c.StorageConfig(ctx, storage)
	if err != nil {
		return "", fmt.Errorf("ask where storage %s is: %w", storage, err)
	}
	folder, ok := s.Folder("snippets")
	if !ok {
		return "", fmt.Errorf("storage %s isn't a folder: %w", storage, pve.ErrInvalid)
	}
	return path.Join(folder, name), nil
}
