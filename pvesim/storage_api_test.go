package pvesim

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProxmoxHasALocalStorage(t *testing.T) {
	inDepot(t, &World{Nodes: []WorldNode{{Name: "pve1"}}, Users: []WorldUser{{ID: "root@pam", Password: "secret"}}}, func(t *testing.T, l *lab) {
		local := func() object { return l.must("GET", "/storage").([]any)[0].(object) }
		first := local()
		const empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
		if first["storage"] != "local" || first["digest"] != empty || first["priority"] != 0.0 || first["prune-backups"] != "keep-all=1" {
			t.Errorf("without a storage.cfg: %v", first)
		}
		l.must("POST", "/storage", "storage", "more", "type", "dir", "path", "/more")
		if now := local(); now["priority"] != nil || now["digest"] == empty || now["content"] != first["content"] {
			t.Errorf("with a storage.cfg: %v", now)
		}
		l.must("DELETE", "/storage/local")
		if again := local(); again["storage"] != "local" || again["priority"] != 0.0 {
			t.Errorf("local can't go, but is %v", again)
		}
	})
}

func TestStoragesAreConfiguredByTheRulesOfTheirType(t *testing.T) {
	for _, release := range []string{"9.2", "8.4"} {
		inDepot(t, depotWorld(release), func(t *testing.T, l *lab) {
			create := func(params ...string) object {
				t.Helper()
				id := params[1]
				l.must("POST", "/storage", params...)
				got := l.must("GET", "/storage/"+id).(object)
				delete(got, "digest")
				return got
			}
			l.same(create("storage", "d1", "type", "dir", "path", "/d1//x/", "content", "iso,images", "nodes", "pve1,pve2", "disable", "0", "max-protected-backups", "3"),
				object{"storage": "d1", "type": "dir", "path": "/d1/x", "content": "iso,images", "nodes": "pve1,pve2", "disable": 0.0, "max-protected-backups": 3.0}, "a directory")
			l.same(create("storage", "d2", "type", "dir", "path", "/d2", "content-dirs", "iso=a,vztmpl=b"),
				object{"storage": "d2", "type": "dir", "path": "/d2", "content": "images,rootdir", "content-dirs": object{"iso": "a", "vztmpl": "b"}}, "with directories of its own")
			l.same(create("storage", "n1", "type", "nfs", "server", "10.0.0.9", "export", "/e", "options", "vers=4"),
				object{"storage": "n1", "type": "nfs", "path": "/mnt/pve/n1", "server": "10.0.0.9", "export": "/e", "options": "vers=4", "content": "images", "shared": 1.0}, "NFS")
			l.same(create("storage", "c1", "type", "cifs", "server", "nas", "share", "s", "username", "u", "password", "hidden"),
				object{"storage": "c1", "type": "cifs", "path": "/mnt/pve/c1", "server": "nas", "share": "s", "username": "u", "content": "images", "shared": 1.0}, "CIFS, without its password")
			l.same(create("storage", "l1", "type", "lvm", "vgname", "vg1", "content", "images,iso", "shared", "1"),
				object{"storage": "l1", "type": "lvm", "vgname": "vg1", "content": "images", "shared": 1.0}, "LVM, without what it can't hold")
			l.same(create("storage", "z1", "type", "zfspool", "pool", "rpool/x", "sparse", "1", "blocksize", "16k"),
				object{"storage": "z1", "type": "zfspool", "pool": "rpool/x", "sparse": 1.0, "blocksize": "16k", "content": "images,rootdir"}, "ZFS")
			l.same(create("storage", "r1", "type", "rbd", "pool", "p", "krbd", "1"),
				object{"storage": "r1", "type": "rbd", "pool": "p", "krbd": 1.0, "content": "images", "shared": 1.0}, "RBD")
			l.must("PUT", "/storage/d1", "content", "backup", "delete", "nodes,max-protected-backups", "shared", "1")
			got := l.must("GET", "/storage/d1").(object)
			delete(got, "digest")
			l.same(got, object{"storage": "d1", "type": "dir", "path": "/d1/x", "content": "backup", "disable": 0.0, "shared": 1.0}, "after an update")
			l.must("DELETE", "/storage/d1")
			l.expect(l.get("/storage/d1"), 500, "storage 'd1' does not exist")
		})
	}
}

func TestWrongStorageConfigsAreRefused(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.must("POST", "/storage", "storage", "chain", "type", "lvm", "vgname", "vgc", "snapshot-as-volume-chain", "1")
		if _, err := l.alloc("chain", "", "", 4<<20); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			r    reply
			want string
		}{
			{l.post("/storage", "storage", "x1", "type", "dir"), "missing value for required option 'path'"},
			{l.post("/storage", "storage", "x1", "type", "nfs", "server", "10.0.0.9"), "missing value for required option 'export'"},
			{l.post("/storage", "storage", "x1", "type", "dir", "path", "/x y"), "illegal path for directory storage: /x y"},
			{l.post("/storage", "storage", "x1", "type", "dir", "path", "/x", "vgname", "vg"), "unexpected property 'vgname'"},
			{l.post("/storage", "storage", "x1", "type", "dir", "path", "/x", "content", "none,iso"), "unable to combine 'none' with other content types"},
			{l.post("/storage", "storage", "x1", "type", "lvm", "vgname", "vg", "content", "iso"), "storage does not support content type 'none'"},
			{l.post("/storage", "storage", "x1", "type", "lvm", "vgname", "vg", "base", "nope:x"), "create storage failed: base storage ID 'nope' does not exist"},
			{l.post("/storage", "storage", "thin", "type", "dir", "path", "/x"), "create storage failed: storage ID 'thin' already defined"},
			{l.post("/storage", "storage", "x1", "type", "dir", "path", "/nowhere", "create-base-path", "0"),
				"create storage failed: unable to activate storage 'x1' - directory '/nowhere' does not exist or is unreachable"},
			{l.put("/storage/nope", "content", "iso"), "update storage failed: storage 'nope' does not exist"},
			{l.put("/storage/local", "digest", strings.Repeat("a", 40), "content", "iso"),
				"update storage failed: detected modified configuration - file changed by other user? Try again."},
			{l.put("/storage/local", "delete", "path"), "update storage failed: unable to delete required option 'path'"},
			{l.put("/storage/local", "delete", "vgname"), "update storage failed: no such option 'vgname'"},
			{l.put("/storage/local", "delete", "snapshot-as-volume-chain"), "update storage failed: unable to delete fixed option 'snapshot-as-volume-chain'"},
			{l.put("/storage/local", "delete", "content", "content", "iso"), "update storage failed: cannot set and delete property 'content' at the same time!"},
			{l.put("/storage/local", "snapshot-as-volume-chain", "1"), "update storage failed: can't change value of fixed parameter 'snapshot-as-volume-chain'"},
			{l.put("/storage/chain", "delete", "snapshot-as-volume-chain"), "update storage failed: chain - cannot disable 'snapshot-as-volume-chain' while a qcow2 image exists"},
			{l.delete("/storage/nope"), "delete storage failed: storage 'nope' does not exist"},
		} {
			l.expect(c.r, 500, c.want)
		}
		l.expect(l.get("/storage/x1"), 500, "storage 'x1' does not exist")
	})
}

func TestARemovedStorageKeepsWhatIsInItsPlace(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		if _, err := l.alloc("thin", "", "", 1<<30); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			pool string
			want int
		}{{"data", 1}, {"other", 0}} {
			l.must("DELETE", "/storage/thin")
			l.must("POST", "/storage", "storage", "thin", "type", "lvmthin", "vgname", "pve", "thinpool", c.pool)
			if got := l.must("GET", "/nodes/pve1/storage/thin/content").([]any); len(got) != c.want {
				t.Errorf("pool %s holds %v", c.pool, got)
			}
		}
	})
}

func TestNodesListStoragesByWhatIsAskedFor(t *testing.T) {
	for _, release := range []string{"9.2", "8.4"} {
		inDepot(t, depotWorld(release), func(t *testing.T, l *lab) {
			l.must("POST", "/storage", "storage", "off", "type", "dir", "path", "/off", "disable", "1", "content", "iso")
			l.must("POST", "/storage", "storage", "far", "type", "nfs", "server", "10.0.0.9", "export", "/f", "nodes", "pve2")
			ids := func(node string, params ...string) string {
				t.Helper()
				var out []string
				for _, s := range l.must("GET", "/nodes/"+node+"/storage", params...).([]any) {
					out = append(out, s.(object)["storage"].(string))
				}
				return strings.Join(out, " ")
			}
			for _, c := range []struct {
				got, want, reason string
			}{
				{ids("pve1"), "btr ceph far local nas off tank tankfull thick thin", "all, also those that are off"},
				{ids("pve1", "enabled", "1"), "btr ceph far local nas tank tankfull thick thin", "enabled means not disabled"},
				{ids("pve1", "content", "iso"), "local nas", "disabled ones hold nothing"},
				{ids("pve1", "content", "iso,snippets"), "local nas", "any of the kinds"},
				{ids("pve1", "target", "pve2"), "ceph nas", "shared ones that both see"},
				{ids("pve2", "target", "pve1"), "ceph nas", "far isn't on the target"},
				{ids("pve1", "storage", "thin"), "thin", "one"},
			} {
				if c.got != c.want {
					t.Errorf("%s: %q, want %q", c.reason, c.got, c.want)
				}
			}
			r := l.get("/nodes/pve1/storage", "storage", "off", "content", "iso")
			l.expect(r, 400, "Parameter verification failed.")
			l.same(r.errors, object{"storage": "No such storage."}, "errors")
			off := l.must("GET", "/nodes/pve1/storage/far/status").(object)
			l.same(off, object{"type": "nfs", "content": "images", "shared": 1.0, "enabled": 0.0, "active": 0.0, "total": 0.0, "used": 0.0, "avail": 0.0}, "a storage of another node")
			list := l.must("GET", "/nodes/pve1/storage", "format", "1", "storage", "local").([]any)[0].(object)
			l.same(list["format"], []any{object{"raw": 1.0, "qcow2": 1.0, "vmdk": 1.0, "subvol": 1.0}, "raw"}, "formats")
			var newer any
			if release == "9.2" {
				newer = object{"default": "raw", "supported": []any{"qcow2", "raw", "subvol", "vmdk"}}
			}
			l.same(list["formats"], newer, "formats of "+release)
		})
	}
}

func TestSpacesSurviveBeingWrittenDown(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		disk, _ := l.alloc("tank", "", "", 1<<30)
		err := l.act(func(a *actor) error {
			base, err := a.makeBase("pve1", disk)
			if err != nil {
				return err
			}
			_, err = a.linkedClone("pve1", base, 120, "")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(l.sim.state.Spaces)
		if err != nil {
			t.Fatal(err)
		}
		var back map[SpaceKey]*Space
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		sp := back[SpaceKey{Storage: "tank", Node: "pve1"}]
		for _, v := range sp.Volumes {
			sp.index(v)
		}
		have := l.sim.state.Spaces[SpaceKey{Storage: "tank", Node: "pve1"}]
		if diff := cmp.Diff(have, sp, cmp.AllowUnexported(Space{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
