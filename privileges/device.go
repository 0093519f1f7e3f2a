package privileges

import (
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// option notes what it takes to set an option of a guest.
func (b *book) option(c call, key, value string) {
	guest, name := c.on["vmid"], family(key)
	why := "set " + key
	switch {
	case isCloudInit(key):
		b.any(why, guest, cloudInitPrivs...)
		return
	case name == "serial[n]" || name == "usb[n]" || name == "hostpci[n]":
		b.device(c, key, value)
		return
	}
	priv, ok := optionPrivs[name]
	if !ok {
		b.onlyRoot(c.deed.of, key, rootReasons[name])
		return
	}
	b.all(why, guest, priv)
	switch name {
	case "startup": // it changes what the host does
		b.all(why, "/", "Sys.Modify")
	case "vmstatestorage":
		if value != "" {
			b.all(why, storagePath(value), newDiskPriv)
		}
	}
	b.device(c, key, value)
}

// useCPU is the reason of what it takes to use a CPU model of the cluster's own.
const useCPU = "use cpu"

// device notes what a device of the host takes; an empty value tells nothing.
func (b *book) device(c call, key, value string) {
	guest, name, why := c.on["vmid"], family(key), "use "+key
	get := func(property string) string { return prop.Properties(key, value)[property] }
	mapped := func(kind, id string) { b.all(why, "/mapping/"+kind+"/"+id, "Mapping.Use") }
	switch name {
	case "serial[n]":
		b.all(why, guest, "VM.Config.HWType")
		if value != "" && value != "socket" {
			b.onlyRoot(c.deed.of, key, rootReasons[name])
		}
	case "usb[n]", "hostpci[n]":
		b.all(why, guest, "VM.Config.HWType")
		switch host := get("host"); {
		case host != "" && !strings.EqualFold(host, "spice"):
			b.onlyRoot(c.deed.of, key, rootReasons[name])
		case get("mapping") != "":
			mapped(map[string]string{"usb[n]": "usb", "hostpci[n]": "pci"}[name], get("mapping"))
		}
		if get("romfile") != "" {
			b.onlyRoot(c.deed.of, key, rootReasons["romfile"])
		}
	case "virtiofs[n]":
		if id := get("dirid"); id != "" {
			mapped("dir", id)
		}
	case "rng[n]":
		if get("source") == "/dev/hwrng" {
			b.all(why, "/mapping/hwrng", "Mapping.Use")
		}
	case "cpu":
		if model, custom := strings.CutPrefix(get("cputype"), "custom-"); custom {
			if b.at.Release >= 9 {
				mapped("cpu", model)
			} else {
				b.all(why, c.on["node"], "Sys.Audit")
			}
		}
	}
}

// volume notes what the storage of a drive takes.
func (b *book) volume(d model.NewDisk) {
	storage := storagePath(storageOf(d.Disk))
	switch {
	case d.CloudInit, d.Volume == "none":
	case d.Volume == "cdrom":
		b.all("use the node's own drive", "/", "Sys.Console")
	case d.CDROM:
		b.any("use "+d.Volume, storage, useFilePrivs...)
	case d.Volume == "":
		b.all("make disks", storage, newDiskPriv)
	}
	if d.Import != "" {
		b.any("use a fetched image", storagePath(model.StorageOf(d.Import)), useFilePrivs...)
	}
}

// allBridges is the path of rights on all bridges.
const allBridges = "/sdn/zones"

// bridge notes what a NIC takes: the bridge, or each VLAN of it.
func (b *book) bridge(why string, n model.NIC) {
	switch n.Bridge {
	case "":
		return
	case unnamed:
		b.all(why, allBridges, "SDN.Use")
		return
	}
	zone := b.at.Zones[n.Bridge]
	if zone == "" {
		zone = "localnetwork"
	}
	path := "/sdn/zones/" + zone + "/" + n.Bridge
	tags := trunk(n.Options["trunks"])
	if n.VLAN != 0 {
		tags = append(tags, n.VLAN)
	}
	for _, tag := range tags {
		b.all(why, path+"/"+strconv.Itoa(tag), "SDN.Use")
	}
	if len(tags) == 0 {
		b.all(why, path, "SDN.Use")
	}
}

// trunk returns the VLANs of "2;5-7".
func trunk(text string) []int {
	var tags []int
	for part := range strings.SplitSeq(text, ";") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		to := from
		if n, err := strconv.Atoi(last); ranged && err == nil {
			to = min(n, 4094)
		}
		for tag := from; tag <= to; tag++ {
			tags = append(tags, tag)
		}
	}
	return tags
}

type driveKind int

const (
	disk driveKind = iota
	cdrom
	cloudInitDrive
)

func kindOf(d model.Disk) driveKind {
	switch {
	case d.CloudInit:
		return cloudInitDrive
	case d.CDROM:
		return cdrom
	}
	return disk
}

// storageOf returns where a disk is, or is to be.
func storageOf(d model.Disk) string {
	if name, _, ok := strings.Cut(d.Volume, ":"); ok {
		return name
	}
	return d.Storage
}

// isCloudInit reports whether an option is for Proxmox' own cloud-init drive.
func isCloudInit(key string) bool { return slices.Contains(cloudInitOptions, family(key)) }
