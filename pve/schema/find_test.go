package schema

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustLoad(t testing.TB, release string) *Schema {
	t.Helper()
	s, err := Load(release)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFindReadsPathsAsProxmoxDoes(t *testing.T) {
	s := mustLoad(t, "9.2")
	for _, c := range []struct {
		reason, method, path string
		want                 string // path template, "" when there is no such call
		params               map[string]string
	}{
		{"a fixed path", "GET", "/version", "/version", nil},
		{"the root is an index", "GET", "", "/", nil},
		{"the root with slashes", "GET", "//", "/", nil},
		{"empty segments are skipped", "GET", "//version", "/version", nil},
		{"a slash at the end too", "GET", "/version/", "/version", nil},
		{"another method is another call", "POST", "/version", "", nil},
		{"methods are upper case", "get", "/version", "", nil},
		{"unknown folder", "GET", "/nope", "", nil},
		{"nothing below a leaf", "GET", "/version/x", "", nil},
		{"parameters are taken from the path", "GET", "/nodes/pve1/qemu/100/config", "/nodes/{node}/qemu/{vmid}/config",
			map[string]string{"node": "pve1", "vmid": "100"}},
		{"escapes are decoded", "GET", "/access/users/root%40pam/token/a%21b", "/access/users/{userid}/token/{tokenid}",
			map[string]string{"userid": "root@pam", "tokenid": "a!b"}},
		{"what is no escape stays", "GET", "/nodes/a%zz%4", "/nodes/{node}", map[string]string{"node": "a%zz%4"}},
		{"an escaped slash separates", "GET", "/nodes%2Fpve1/qemu", "/nodes/{node}/qemu", map[string]string{"node": "pve1"}},
		{"no white space in a parameter", "GET", "/nodes/a%20b/qemu", "", nil},
		{"but for a final newline, which is dropped", "GET", "/nodes/pve1%0A/qemu", "/nodes/{node}/qemu", map[string]string{"node": "pve1"}},
		{"a volume id holds slashes", "DELETE", "/nodes/pve1/storage/local/content/local:102/base-102-disk-0.qcow2/120/vm-120-disk-0.qcow2",
			"/nodes/{node}/storage/{storage}/content/{volume}",
			map[string]string{"node": "pve1", "storage": "local", "volume": "local:102/base-102-disk-0.qcow2/120/vm-120-disk-0.qcow2"}},
		{"escaped ones as well", "GET", "/nodes/pve1/storage/local/content/local%3Aiso%2Ftiny.iso",
			"/nodes/{node}/storage/{storage}/content/{volume}",
			map[string]string{"node": "pve1", "storage": "local", "volume": "local:iso/tiny.iso"}},
		{"without one it is the list", "GET", "/nodes/pve1/storage/local/content/", "/nodes/{node}/storage/{storage}/content",
			map[string]string{"node": "pve1", "storage": "local"}},
		{"a network in an IP set", "GET", "/cluster/firewall/ipset/foo/10.0.0.0/8", "/cluster/firewall/ipset/{name}/{cidr}",
			map[string]string{"name": "foo", "cidr": "10.0.0.0/8"}},
		{"in a VM's IP set", "PUT", "/nodes/pve1/qemu/100/firewall/ipset/foo/10.0.0.0%2F8", "/nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}",
			map[string]string{"node": "pve1", "vmid": "100", "name": "foo", "cidr": "10.0.0.0/8"}},
		{"in a container's IP set", "DELETE", "/nodes/pve1/lxc/100/firewall/ipset/foo/fe80::/10", "/nodes/{node}/lxc/{vmid}/firewall/ipset/{name}/{cidr}",
			map[string]string{"node": "pve1", "vmid": "100", "name": "foo", "cidr": "fe80::/10"}},
	} {
		ep, params := s.Find(c.method, c.path)
		got := ""
		if ep != nil {
			got = ep.Path
		}
		if got != c.want {
			t.Errorf("%s: %s %q is %q, want %q", c.reason, c.method, c.path, got, c.want)
			continue
		}
		if c.params == nil {
			c.params = map[string]string{}
		}
		if ep != nil && !cmp.Equal(c.params, params) {
			t.Errorf("%s: %s %q has %v, want %v", c.reason, c.method, c.path, params, c.params)
		}
	}
}

func TestEveryEndpointIsFoundByItsOwnPath(t *testing.T) {
	for _, release := range Releases() {
		s := mustLoad(t, release)
		for _, ep := range s.Endpoints() {
			if got, _ := s.Find(ep.Method, ep.Path); got != ep {
				t.Errorf("%s: %s finds %v", release, ep, got)
			}
			if s.Lookup(ep.Method, ep.Path) != ep {
				t.Errorf("%s: lookup of %s", release, ep)
			}
		}
	}
}

func TestEndpointsKeepTheirOrderAndNumber(t *testing.T) {
	for release, want := range map[string]int{"9.2": 661, "8.4": 605} {
		s := mustLoad(t, release)
		first, second := s.Endpoints(), s.Endpoints()
		if len(first) != want {
			t.Errorf("%s has %d endpoints, want %d", release, len(first), want)
		}
		if !slices.Equal(first, second) {
			t.Errorf("%s: two calls, two orders", release)
		}
	}
}

func TestChildrenAreTheFixedSubFolders(t *testing.T) {
	s := mustLoad(t, "9.2")
	for path, want := range map[string][]string{
		"":                                {"access", "cluster", "nodes", "pools", "storage", "version"},
		"/nodes/pve1/qemu/102/snapshot/s": {"config", "rollback"},
		"/nodes/pve1/tasks/UPID%3Apve1":   {"log", "status"},
		"/nodes/pve1/qemu/101/agent": {"exec", "exec-status", "file-read", "file-write", "fsfreeze-freeze",
			"fsfreeze-status", "fsfreeze-thaw", "fstrim", "get-fsinfo", "get-host-name", "get-memory-block-info",
			"get-memory-blocks", "get-osinfo", "get-time", "get-timezone", "get-users", "get-vcpus", "info",
			"network-get-interfaces", "ping", "set-user-password", "shutdown", "suspend-disk", "suspend-hybrid", "suspend-ram"},
		"/version": nil,
		"/nope":    nil,
	} {
		if got := s.Children(path); !slices.Equal(got, want) {
			t.Errorf("children of %q: %q, want %q", path, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("GET", "/nodes/pve1/storage/local/content/local:iso/x.iso")
	f.Add("PUT", "/nodes/%70ve1/qemu/100/config")
	f.Add("GET", "/%/%4/%zz//\n")
	f.Fuzz(func(t *testing.T, method, path string) {
		s := mustLoad(t, "9.2")
		ep, params := s.Find(method, path)
		if (ep == nil) != (params == nil) {
			t.Fatalf("%s %q: endpoint %v, parameters %v", method, path, ep, params)
		}
		for name, value := range params {
			if value == "" {
				t.Fatalf("%s %q: %s is empty", method, path, name)
			}
		}
		s.Children(path)
	})
}
