package pvesim

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// newDisk matches "storage:GiB", which asks for a new disk.
var newDisk = regexp.MustCompile(`^(?:([^/:\s]+):)?(\d+(?:\.\d+)?)$`)

// readDrive reads a disk option as a request gives it. Some combinations
// that its format lets through make no drive.
func (s *Sim) readDrive(key, value string) (drive, bool) {
	p := s.option(key)
	if p == nil {
		return drive{}, false
	}
	props, err := p.ParseProps(key, value)
	if err != nil {
		return drive{}, false
	}
	for _, k := range []string{"bps", "bps_rd", "bps_wr"} {
		if !props.Has(k) {
			continue
		}
		if props.Has("m" + k) {
			return drive{}, false
		}
		// Proxmox converts the wrong number here: any rate becomes this.
		props.Del(k)
		props.Set("m"+k, "0.000")
	}
	if !throttleFits(props) {
		return drive{}, false
	}
	if props.Get("media") == "cdrom" && (truthy(props.Get("snapshot")) || truthy(props.Get("format")) || family(key, "virtio")) {
		return drive{}, false
	}
	if size := props.Get("size"); truthy(size) {
		n, ok := schema.ParseSize(size)
		if !ok {
			return drive{}, false
		}
		props.Set("size", schema.FormatSize(n))
	}
	d := drive{key: key, volume: props.Get("file")}
	for _, k := range props.Keys() {
		if k != "file" {
			d.opts = append(d.opts, k+"="+props.Get(k))
		}
	}
	return d, true
}

// throttleFits checks limits of a drive that need or exclude one another.
func throttleFits(props *schema.Props) bool {
	for _, need := range [][2]string{
		{"mbps_max", "mbps"}, {"mbps_rd_max", "mbps_rd"}, {"mbps_wr_max", "mbps_wr"},
		{"bps_max_length", "mbps_max"}, {"bps_rd_max_length", "mbps_rd_max"}, {"bps_wr_max_length", "mbps_wr_max"},
		{"iops_max_length", "iops_max"}, {"iops_rd_max_length", "iops_rd_max"}, {"iops_wr_max_length", "iops_wr_max"},
	} {
		if truthy(props.Get(need[0])) && !truthy(props.Get(need[1])) {
			return false
		}
	}
	for _, what := range []string{"mbps", "iops"} {
		if truthy(props.Get(what)) && (truthy(props.Get(what+"_rd")) || truthy(props.Get(what+"_wr"))) {
			return false
		}
	}
	return true
}

// checkDrives checks the drives of a request and gives them their stored
// form; what isn't known yet (which volume a new disk gets) stays.
func (s *Sim) checkDrives(node string, set *given) error {
	for _, key := range set.keys() {
		if !isDriveKey[key] {
			continue
		}
		d, ok := s.readDrive(key, set.conf[key])
		if !ok {
			return badParam(key, "unable to parse drive options")
		}
		if d.has("import-from") {
			if err := checkImport(d); err != nil {
				return err
			}
		}
		if err := s.cleanDrive(node, &d); err != nil {
			return err
		}
		if _, volname, ok := splitVolID(d.volume); ok && !newDisk.MatchString(d.volume) && volname != "cloudinit" {
			n, err := s.parseVolID(d.volume)
			if err != nil {
				return err
			}
			if n.kind == "iso" && !d.cdrom() {
				return badParam(key, "explicit 'media=cdrom' is required for iso images")
			}
		}
		set.conf[key] = d.String()
	}
	return nil
}

// checkImport checks what a drive that is to be imported must say.
func checkImport(d drive) error {
	m := newDisk.FindStringSubmatch(d.volume)
	if m == nil || !zero(m[2]) {
		return badParam(d.key, "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>")
	}
	switch d.key {
	case "efidisk0":
		for _, need := range []string{"efitype", "pre-enrolled-keys"} {
			if !d.has(need) {
				return badParam(d.key, "need to specify '%s' when using 'import-from'", need)
			}
		}
	case "tpmstate0":
		if !d.has("version") {
			return badParam(d.key, "need to specify 'version' when using 'import-from'")
		}
	}
	return nil
}

func zero(number string) bool {
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && n == 0
}

var driveVolume = regexp.MustCompile(`^(cdrom|none|/dev/.+|[^:]+:.+|\d+)$`)

// cleanDrive turns a path into the volume that it is, and makes a drive
// without a disc a CD-ROM drive.
func (s *Sim) cleanDrive(node string, d *drive) error {
	if !driveVolume.MatchString(d.volume) {
		kind, volid := s.pathVolume(node, d.volume)
		if kind == "" {
			return badParam(d.key, "unable to associate path '%s' to any storage", d.volume)
		}
		if !d.has("media") && kind == "iso" {
			d.set("media", "cdrom")
		}
		want := map[string]string{"disk": "images", "cdrom": "iso"}[d.opt("media")]
		if want != "" && want != kind {
			return badParam(d.key, "unexpected media type (%s != %s)", kind, want)
		}
		d.volume = volid
	}
	if !d.has("media") && (d.volume == "cdrom" || d.volume == "none") {
		d.set("media", "cdrom")
	}
	return nil
}

// pathVolume finds the volume that is a file on the node.
func (s *Sim) pathVolume(node, file string) (kind, volid string) {
	dir, name := path.Split(path.Clean(file))
	dir = strings.TrimSuffix(dir, "/")
	for _, id := range sortedKeys(s.state.Storages) {
		st := s.state.Storages[id]
		if !st.plugin().files {
			continue
		}
		for _, kind := range []string{"iso", "vztmpl", "backup", "snippets", "import"} {
			if dir != st.dir(kind) {
				continue
			}
			if n, err := st.parseName(kind + "/" + name); err == nil && n.kind == kind {
				return kind, n.String()
			}
		}
		if images, owner := path.Split(dir); strings.TrimSuffix(images, "/") == st.dir("images") {
			for _, v := range s.space(id, node).ofVM(atoi(owner)) {
				if volid := id + ":" + v.volname(); s.volumePath(volid) == file {
					return "images", volid
				}
			}
		}
	}
	return "", ""
}

// defaultBoot is the boot order of a VM that doesn't say: its first disk,
// its first CD-ROM drive, its first network card.
func defaultBoot(c Conf) string {
	var order []string
	for _, cdrom := range []bool{false, true} {
		i := slices.IndexFunc(c.drives(), func(d drive) bool {
			return d.cdrom() == cdrom && d.key != "efidisk0" && d.key != "tpmstate0"
		})
		if i >= 0 {
			order = append(order, c.drives()[i].key)
		}
	}
	for i := range maxNets {
		if key := fmt.Sprintf("net%d", i); c[key] != "" {
			order = append(order, key)
			break
		}
	}
	return printBoot(order)
}

// printBoot is how a boot order is stored.
func printBoot(order []string) string {
	if len(order) == 0 {
		return ""
	}
	return "order=" + strings.Join(order, ";")
}
