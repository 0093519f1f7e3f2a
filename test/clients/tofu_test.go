package clients

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/clients/rawapi"
)

func TestOpenTofuManagesMachines(t *testing.T) {
	tofuPath, tofuVersion := build(t, "tofu", "tofu")
	bpgPath, bpgVersion := build(t, "bpg", "terraform-provider-proxmox")
	client := "OpenTofu " + tofuVersion + " with bpg/proxmox " + bpgVersion
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			runTofu(t, release, client, newWorkspace(t, tofuPath, bpgPath, bpgVersion))
		})
	}
}

func runTofu(t *testing.T, release, client string, w *workspace) {
	s := startSim(t, release)
	operations := "none"
	report(t, s, client, &operations)
	t.Cleanup(func() { operations = w.counts.String() })

	configure(t, s, w)
	before, err := s.raw.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.must(t, "init")
	w.must(t, "validate")

	w.must(t, "apply", "-auto-approve")
	w.expectSettled(t)
	out := w.outputs(t)
	expectOutputs(t, out)
	expectCreated(t, s, out)

	// What was made elsewhere can be taken over.
	for address, id := range map[string]string{
		"proxmox_virtual_environment_pool.clients":   "clients",
		"proxmox_virtual_environment_role.operators": "operators",
	} {
		w.must(t, "state", "rm", address)
		w.must(t, "import", address, id)
	}
	w.expectSettled(t)

	w.must(t, "apply", "-auto-approve", "-var-file=changed.tfvars")
	w.expectSettled(t, "-var-file=changed.tfvars")
	if w.counts.destroyed != 0 {
		t.Errorf("%d resources were replaced by a change that needs no replacement", w.counts.destroyed)
	}
	expectChanged(t, s, w.outputs(t), out)

	w.must(t, "destroy", "-auto-approve", "-var-file=changed.tfvars")
	s.expectUnchanged(t, before)
	s.expectNoSecrets(t, "a-strong-password", "first & second = third")
	if w.counts.destroyed != w.counts.added {
		t.Errorf("%d resources created, %d destroyed", w.counts.added, w.counts.destroyed)
	}
}

// configure gives the workspace its credentials and its files to upload and
// download.
func configure(t *testing.T, s *sim, w *workspace) {
	t.Helper()
	var token struct {
		ID    string `json:"full-tokenid"`
		Value string `json:"value"`
	}
	if err := s.raw.Do(t.Context(), http.MethodPost, "/access/users/root@pam/token/tofu", url.Values{"privsep": {"0"}}, &token); err != nil {
		t.Fatal(err)
	}
	tenant := makeTenant(t, s)
	image := bytes.Repeat([]byte("proxplane\n"), 200_000)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/octet-stream")
		rw.Header().Set("Content-Length", fmt.Sprint(len(image)))
		if r.Method != http.MethodHead {
			rw.Write(image)
		}
	}))
	t.Cleanup(server.Close)
	w.env = append(w.env,
		"PROXMOX_VE_ENDPOINT="+s.url+"/", "PROXMOX_VE_USERNAME="+simUser, "PROXMOX_VE_PASSWORD="+simPassword,
		"TF_VAR_api_token="+token.ID+"="+token.Value,
		"TF_VAR_tenant_token="+tenant,
		"TF_VAR_ssh_port="+s.sshPort,
		"TF_VAR_iso_path="+w.write(t, "local.iso", strings.Repeat("iso", 1000)),
		fmt.Sprintf("TF_VAR_ha_groups=%t", s.release == "8.4"),
		"TF_VAR_download_url="+server.URL+"/image.img",
		fmt.Sprintf("TF_VAR_download_sha256=%x", sha256.Sum256(image)))
}

// makeTenant makes a user who may manage VMs in one pool, and gives its token.
func makeTenant(t *testing.T, s *sim) string {
	t.Helper()
	var token struct {
		ID    string `json:"full-tokenid"`
		Value string `json:"value"`
	}
	for _, call := range []struct {
		method, path string
		form         url.Values
		answer       any
	}{
		{http.MethodPost, "/pools", url.Values{"poolid": {"tenants"}}, nil},
		{http.MethodPost, "/access/users", url.Values{"userid": {"tenant@pve"}}, nil},
		{http.MethodPut, "/access/acl", url.Values{"path": {"/pool/tenants"}, "users": {"tenant@pve"}, "roles": {"PVEVMAdmin"}}, nil},
		{http.MethodPut, "/access/acl", url.Values{"path": {"/storage/local-lvm"}, "users": {"tenant@pve"}, "roles": {"PVEDatastoreUser"}}, nil},
		{http.MethodPut, "/access/acl", url.Values{"path": {"/sdn/zones/localnetwork"}, "users": {"tenant@pve"}, "roles": {"PVESDNUser"}}, nil},
		{http.MethodPost, "/access/users/tenant@pve/token/tofu", url.Values{"privsep": {"0"}}, &token},
	} {
		if err := s.raw.Do(t.Context(), call.method, call.path, call.form, call.answer); err != nil {
			t.Fatal(err)
		}
	}
	return token.ID + "=" + token.Value
}

func expectOutputs(t *testing.T, out map[string]any) {
	t.Helper()
	for name, want := range map[string]string{
		"nodes":        "[pve1 pve2 pve3]",
		"team_members": "[alice@pve]",
		"running":      "[clone]",
		"tenant_sees":  "[tenant]",
		"ha_resources": fmt.Sprintf("[vm:%v]", out["clone_id"]),
	} {
		if have := fmt.Sprint(out[name]); have != want {
			t.Errorf("output %s is %s, expected %s", name, have, want)
		}
	}
	if have := fmt.Sprint(out["clone_addresses"]); !strings.Contains(have, "192.0.2.20") {
		t.Errorf("the clone's addresses are %s, expected 192.0.2.20 among them", have)
	}
	if have := fmt.Sprint(out["datastores"]); !strings.Contains(have, "local-lvm") || !strings.Contains(have, "nfs") {
		t.Errorf("the datastores are %s", have)
	}
}

func expectCreated(t *testing.T, s *sim, out map[string]any) {
	t.Helper()
	s.expectVM(t, "pve1", 4001, map[string]string{
		"name": "scratch", "memory": "2048", "balloon": "1024", "cores": "2", "cpulimit": "2", "cpuunits": "512",
		"cpu": "cputype=x86-64-v2-AES,flags=+aes", "bios": "ovmf", "machine": "q35", "scsihw": "virtio-scsi-single",
		"keyboard": "de", "tablet": "0", "onboot": "0", "ostype": "l26", "serial0": "socket",
		"boot":        "order=scsi0;ide0;net0",
		"description": "first\nä ö ü & = ; % +",
		"tags":        "clients;tofu",
		"ide0":        "local:iso/uploaded.iso,media=cdrom,size=3000",
		"net0":        "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,rate=12.500000",
		"ipconfig0":   "gw=192.0.2.1,ip=192.0.2.10/24,ip6=auto",
		"ipconfig1":   "ip=dhcp",
		"nameserver":  "192.0.2.53 192.0.2.54", "searchdomain": "example.com",
		"ciuser": "ubuntu", "cipassword": "**********",
		"startup":  "order=3,up=60,down=30",
		"vga":      "memory=32,type=virtio",
		"watchdog": "model=i6300esb,action=reset",
	})
	clone, node := int(out["clone_id"].(float64)), out["clone_node"].(string)
	s.expectVM(t, node, clone, map[string]string{"name": "clone", "memory": "2048", "cores": "2", "tags": "clients;tofu", "template": "", "lock": ""})
	s.expectStatus(t, node, clone, "running")
	s.expectVM(t, "pve2", int(out["golden_id"].(float64)), map[string]string{"template": "1"})
	s.expectVM(t, "pve3", int(out["linked_id"].(float64)), map[string]string{"name": "linked", "memory": "2048"})
	s.expectVM(t, "pve3", int(out["moved_id"].(float64)), map[string]string{"name": "moved", "lock": ""})
	s.expectStatus(t, "pve3", int(out["moved_id"].(float64)), "running")
	s.expectVM(t, "pve1", int(out["tenant_id"].(float64)), map[string]string{"name": "tenant", "cores": "2"})

	var pool rawapi.Object
	if err := s.raw.Get(t.Context(), "/pools/clients", &pool); err != nil {
		t.Fatal(err)
	}
	if members, _ := pool["members"].([]any); len(members) != 1 {
		t.Errorf("the pool holds %v, expected one VM", pool["members"])
	}
	s.expectVolume(t, "pve1", "local", "local:iso/uploaded.iso", "3000")
	s.expectVolume(t, "pve1", "local", "local:iso/downloaded.img", "2000000")
	s.expectVolume(t, "pve1", "local", "local:snippets/clients.yaml", "33")
	s.expectVM(t, "pve1", 4007, map[string]string{"name": "imported", "cicustom": "user=local:snippets/clients.yaml", "lock": "", "unused0": ""})
	s.expectDisk(t, "pve1", 4007, "virtio0", "8G")
}

func expectChanged(t *testing.T, s *sim, out, earlier map[string]any) {
	t.Helper()
	for _, name := range []string{"clone_id", "golden_id", "linked_id", "base_id", "moved_id", "tenant_id"} {
		if out[name] != earlier[name] {
			t.Errorf("%s was %v and is %v: another VM", name, earlier[name], out[name])
		}
	}
	s.expectVM(t, "pve1", 4001, map[string]string{
		"memory": "4096", "cores": "4", "description": "second", "tags": "changed;clients",
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,rate=12.500000,tag=17",
	})
	s.expectDisk(t, "pve1", 4001, "scsi0", "48G")
	s.expectDisk(t, "pve1", 4001, "virtio1", "5G")
	s.expectStatus(t, "pve1", 4001, "running")

	clone, node := int(out["clone_id"].(float64)), out["clone_node"].(string)
	s.expectVM(t, node, clone, map[string]string{"memory": "4096", "cores": "4", "description": "second", "tags": "changed;clients"})
	s.expectDisk(t, node, clone, "scsi0", "48G")
	s.expectStatus(t, node, clone, "running")
	s.expectVM(t, "pve2", int(out["linked_id"].(float64)), map[string]string{"name": "linked", "memory": "4096", "lock": ""})
	s.expectVM(t, "pve1", int(out["moved_id"].(float64)), map[string]string{"name": "moved", "lock": ""})
	s.expectStatus(t, "pve1", int(out["moved_id"].(float64)), "running")
	base := int(out["base_id"].(float64))
	if config, err := s.raw.VM(t.Context(), "pve2", base); err != nil {
		t.Error(err)
	} else if have := config.Text("virtio0"); !strings.HasPrefix(have, "nfs:") {
		t.Errorf("the disk of VM %d is %q, expected it on nfs", base, have)
	}
	// The provider reboots a running VM whose change needs it.
	var pending []rawapi.Object
	if err := s.raw.Get(t.Context(), fmt.Sprintf("/nodes/%s/qemu/%d/pending", node, clone), &pending); err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		if p.Has("pending") || p.Has("delete") {
			t.Errorf("still pending after the reboot: %v", p)
		}
	}
}

// expectVM compares values of a VM's config.
func (s *sim) expectVM(t *testing.T, node string, vmid int, want map[string]string) {
	t.Helper()
	have, err := s.raw.VM(t.Context(), node, vmid)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range want {
		if have.Text(key) != value {
			t.Errorf("VM %d: %s is %q, expected %q", vmid, key, have.Text(key), value)
		}
	}
}

func (s *sim) expectStatus(t *testing.T, node string, vmid int, want string) {
	t.Helper()
	have, err := s.raw.Status(t.Context(), node, vmid)
	if err != nil {
		t.Fatal(err)
	}
	if have.Text("status") != want {
		t.Errorf("VM %d is %s, expected %s", vmid, have.Text("status"), want)
	}
}

// expectDisk compares a disk's size.
func (s *sim) expectDisk(t *testing.T, node string, vmid int, disk, size string) {
	t.Helper()
	config, err := s.raw.VM(t.Context(), node, vmid)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Split(config.Text(disk), ","), "size="+size) {
		t.Errorf("VM %d: %s is %q, expected size %s", vmid, disk, config.Text(disk), size)
	}
}

func (s *sim) expectVolume(t *testing.T, node, storage, volid, size string) {
	t.Helper()
	var content []rawapi.Object
	if err := s.raw.Get(t.Context(), fmt.Sprintf("/nodes/%s/storage/%s/content", node, storage), &content); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(content, func(o rawapi.Object) bool { return o.Text("volid") == volid })
	if i < 0 {
		t.Errorf("%s is not on the storage", volid)
	} else if content[i].Text("size") != size {
		t.Errorf("%s has %s bytes, expected %s", volid, content[i].Text("size"), size)
	}
}
