package pvesim

import (
	"fmt"

	"github.com/proxplane/proxplane/pvesim/access"
)

// needStorages checks that who may use the storages and volumes of the
// drives in a request. Disks without a storage go to defaultStorage.
func (s *Sim) needStorages(who *access.Identity, vmid int, set Conf, defaultStorage, workStorage string) error {
	for _, key := range set.keys() {
		if !isDriveKey[key] {
			continue
		}
		d, ok := s.readDrive(key, set[key])
		if !ok {
			continue
		}
		if err := s.needDrive(who, vmid, d, defaultStorage); err != nil {
			return err
		}
		if source := d.opt("import-from"); truthy(source) {
			if err := s.needImport(who, vmid, d.key, source, workStorage); err != nil {
				return err
			}
		}
	}
	for _, key := range set.keys() {
		if !family(key, "unused") {
			continue
		}
		volid := parseDrive(key, set[key]).volume
		if _, _, ok := splitVolID(volid); !ok {
			return badParam(key, "not a valid volid: %s", volid)
		}
		if err := s.needVolume(who, vmid, volid, "images"); err != nil {
			return err
		}
	}
	if storage, ok := set["vmstatestorage"]; ok {
		return s.need(who, "/storage/"+storage, "Datastore.AllocateSpace")
	}
	return nil
}

func (s *Sim) needDrive(who *access.Identity, vmid int, d drive, defaultStorage string) error {
	_, volname, managed := splitVolID(d.volume)
	m := newDisk.FindStringSubmatch(d.volume)
	switch {
	case d.volume == "" || d.volume == "none" || d.volume == "cloudinit" || volname == "cloudinit":
		return nil
	case d.cdrom() && d.volume == "cdrom":
		return s.need(who, "/", "Sys.Console")
	case !d.cdrom() && m != nil:
		storage := m[1]
		if storage == "" {
			storage = defaultStorage
		}
		if storage == "" {
			return die("no storage ID specified (and no default storage)")
		}
		if err := s.need(who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
			return err
		}
		st := s.state.Storages[storage]
		if st == nil {
			return die("storage '%s' does not exist", storage)
		}
		if !st.HasContent("images") {
			return badParam("storage", "storage '%s' does not support vm images", storage)
		}
		return nil
	}
	if err := s.needVolume(who, vmid, d.volume, ""); err != nil {
		return err
	}
	if managed {
		n, err := s.parseVolID(d.volume)
		if err != nil {
			return err
		}
		if n.kind != "images" && n.kind != "iso" {
			return badParam(d.key, "content type needs to be 'images' or 'iso'")
		}
	}
	return nil
}

// needImport checks that who may read the source of a drive.
func (s *Sim) needImport(who *access.Identity, vmid int, key, source, workStorage string) error {
	owner := 0
	if storage, _, ok := splitVolID(source); ok {
		n, err := s.imageName(source)
		if err != nil {
			return err
		}
		if n.kind != "images" && n.kind != "import" {
			return badParam(key, "%s has wrong type '%s' - needs to be 'images' or 'import'", source, n.kind)
		}
		owner = n.vmid
		if n.packed() {
			param := key
			if workStorage != "" {
				storage, param = workStorage, "import-working-storage"
			}
			st := s.state.Storages[storage]
			if st == nil {
				return die("storage '%s' does not exist", storage)
			}
			if !st.HasContent("images") || !st.plugin().files {
				return badParam(param, "import working storage '%s' does not support 'images' content type or is not file based.", storage)
			}
			if err := s.need(who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
				return err
			}
		}
	}
	if owner != 0 {
		return s.need(who, fmt.Sprintf("/vms/%d", owner), "VM.Clone")
	}
	return s.needVolume(who, vmid, source, "")
}
