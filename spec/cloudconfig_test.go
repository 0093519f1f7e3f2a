package spec

import (
	"maps"
	"testing"
)

func TestOnlyWhatMeansTheSameGoesIntoProxmoxOptions(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI me@here"
	for _, c := range []struct {
		text   string
		want   map[string]string // nil: it needs a drive
		reason string
	}{
		{"{}", map[string]string{}, "says nothing"},
		{"hostname: web\nmanage_etc_hosts: true", map[string]string{}, "as Proxmox does"},
		{"hostname: other", nil, "Proxmox uses the name of the VM"},
		{"user: me\nssh_authorized_keys: ['" + key + "']", map[string]string{"ciuser": "me", "sshkeys": key}, "the default user, renamed"},
		{"users: [default]", map[string]string{}, "as Proxmox does"},
		{"users: [{name: me}]", nil, "a user without the rights of the default one"},
		{"ssh_authorized_keys: ['ssh-ed25519 AAAA...']", nil, "Proxmox checks keys"},
		{"ssh_authorized_keys: ['from=\"10.0.0.1\" " + key + "']", nil, "options before a key"},
		{"password: x\nchpasswd: {expire: false}", map[string]string{"cipassword": "x"}, "as Proxmox does"},
		{"password: x", nil, "would have to be changed at once"},
		{"chpasswd: {expire: false}", nil, "of which users?"},
		{"package_upgrade: true", map[string]string{"ciupgrade": "1"}, "the default of Proxmox"},
		{"packages: [nginx]", nil, "not in Proxmox"},
		{"[a]", nil, "not a mapping"},
	} {
		got, err := proxmoxOptions("#cloud-config\n"+c.text+"\n", "web")
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v: %s", c.text, err, c.reason)
			continue
		}
		if c.want == nil {
			continue
		}
		want := map[string]string{"ciuser": "", "cipassword": "", "sshkeys": "", "ciupgrade": "0"}
		maps.Copy(want, c.want)
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v: %s", c.text, got, want, c.reason)
		}
	}
	if _, err := proxmoxOptions("#!/bin/sh\n", "web"); err == nil {
		t.Error("a script goes into options")
	}
}
