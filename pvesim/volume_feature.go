package pvesim

import "slices"

// featureTable says for a feature whether a volume has it: as it is
// ("current"), as a base of linked clones, or in a snapshot; the lists are
// the formats that have it.
type featureTable map[string]map[string][]string

var (
	allFormats = []string{"qcow2", "raw", "vmdk"}
	rawOnly    = []string{"raw"}
	qcow2Only  = []string{"qcow2"}

	fileFeatures = featureTable{
		"snapshot":   {"current": qcow2Only, "snap": qcow2Only},
		"clone":      {"base": allFormats},
		"template":   {"current": {"qcow2", "raw", "vmdk", "subvol"}},
		"copy":       {"base": allFormats, "current": allFormats, "snap": qcow2Only},
		"sparseinit": {"base": allFormats, "current": allFormats},
		"rename":     {"current": allFormats},
	}
	btrfsFeatures = featureTable{
		"snapshot":   {"current": {"qcow2", "raw", "subvol"}, "snap": {"qcow2", "raw", "subvol"}},
		"clone":      {"base": {"qcow2", "raw", "subvol", "vmdk"}, "current": rawOnly, "snap": rawOnly},
		"template":   {"current": {"qcow2", "raw", "vmdk", "subvol"}},
		"copy":       {"base": {"qcow2", "raw", "subvol", "vmdk"}, "current": {"qcow2", "raw", "subvol", "vmdk"}, "snap": {"qcow2", "raw", "subvol"}},
		"sparseinit": {"base": allFormats, "current": allFormats},
		"rename":     {"current": allFormats},
	}
	lvmFeatures = featureTable{
		"copy":     {"base": {"qcow2", "raw"}, "current": {"qcow2", "raw"}, "snap": qcow2Only},
		"rename":   {"current": {"qcow2", "raw"}},
		"snapshot": {"current": qcow2Only, "snap": qcow2Only},
	}
	lvmThinFeatures = featureTable{
		"snapshot":   {"current": rawOnly},
		"clone":      {"base": rawOnly, "snap": rawOnly},
		"template":   {"current": rawOnly},
		"copy":       {"base": rawOnly, "current": rawOnly, "snap": rawOnly},
		"sparseinit": {"base": rawOnly, "current": rawOnly},
		"rename":     {"current": rawOnly},
	}
	zfsPoolFeatures = featureTable{
		"snapshot":   {"current": {"raw", "subvol"}, "snap": {"raw", "subvol"}},
		"clone":      {"base": {"raw", "subvol"}},
		"template":   {"current": {"raw", "subvol"}},
		"copy":       {"base": {"raw", "subvol"}, "current": {"raw", "subvol"}},
		"sparseinit": {"base": {"raw", "subvol"}, "current": {"raw", "subvol"}},
		"replicate":  {"base": {"raw", "subvol"}, "current": {"raw", "subvol"}},
		"rename":     {"current": {"raw", "subvol"}},
	}
	rbdFeatures = featureTable{
		"snapshot":   {"current": rawOnly, "snap": rawOnly},
		"clone":      {"base": rawOnly, "snap": rawOnly},
		"template":   {"current": rawOnly},
		"copy":       {"base": rawOnly, "current": rawOnly, "snap": rawOnly},
		"sparseinit": {"base": rawOnly, "current": rawOnly},
		"rename":     {"current": rawOnly},
	}
	iscsiFeatures = featureTable{"copy": {"current": rawOnly}}
)

func (s *Storage) features() featureTable {
	switch s.Type {
	case "lvm":
		return lvmFeatures
	case "lvmthin":
		return lvmThinFeatures
	case "zfspool", "zfs":
		return zfsPoolFeatures
	case "rbd":
		return rbdFeatures
	case "btrfs":
		return btrfsFeatures
	case "iscsi", "iscsidirect":
		return iscsiFeatures
	}
	return fileFeatures
}

// volumeFeature reports whether something can be done with a volume: snapshot,
// clone (linked), copy, template, sparseinit, rename, replicate.
func (s *Sim) volumeFeature(volid, feature, snap string) bool {
	n, err := s.parseVolID(volid)
	if err != nil {
		return false
	}
	st := s.state.Storages[n.storage]
	key := "current"
	switch {
	case snap != "":
		key = "snap"
	case n.isBase:
		key = "base"
	}
	return slices.Contains(st.features()[feature][key], n.format)
}
