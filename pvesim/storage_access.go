package pvesim

import (
	"strconv"

	"github.com/proxplane/proxplane/pvesim/access"
)

// needVolume checks that who may read a volume, on behalf of a guest
// (0: none). kind is the content that the volume must be of, "" any.
func (s *Sim) needVolume(who *access.Identity, vmid int, volid, kind string) error {
	storage, _, ok := splitVolID(volid)
	if !ok {
		if !who.Root() {
			return die("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.")
		}
		return nil
	}
	n, err := s.parseVolID(volid)
	if err != nil {
		return err
	}
	if kind != "" && n.kind != kind && (kind != "rootdir" || n.kind != "images") {
		return die("unable to use volume %s - content type needs to be '%s'", volid, kind)
	}
	path := "/storage/" + storage
	if s.has(who, path, "Datastore.Allocate") {
		return nil
	}
	owner := "/vms/" + strconv.Itoa(n.vmid)
	switch {
	case n.kind == "iso", n.kind == "vztmpl", n.kind == "import":
		return s.needAny(who, path, "Datastore.AllocateSpace", "Datastore.Audit")
	case n.vmid != 0 && n.vmid == vmid:
		return nil
	case n.kind == "backup" && n.vmid != 0:
		if err := s.need(who, path, "Datastore.AllocateSpace"); err != nil {
			return err
		}
		return s.need(who, owner, "VM.Backup")
	case (n.kind == "images" || n.kind == "rootdir") && n.vmid != 0:
		if err := s.need(who, path, "Datastore.Audit"); err != nil {
			return err
		}
		return s.need(who, owner, "VM.Config.Disk")
	}
	return die("missing privileges to access %s", volid)
}
