package pvesim

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// machine is a VM with the given config as Machines is to run it.
func (a *actor) machine(vm *VM, conf Conf) (*Machine, error) {
	sockets, cores := max(1, conf.number("sockets", 1)), max(1, conf.number("cores", 1))
	m := &Machine{
		ID: vm.ID, Node: vm.Node, Name: conf["name"], Type: "pc", UEFI: conf["bios"] == "ovmf",
		Sockets: sockets, Cores: cores, CPUs: sockets * cores, Memory: memoryOf(conf) >> 20,
		Balloon: conf["balloon"] != "0", SCSI: conf["scsihw"], Agent: agentEnabled(conf), Args: conf["args"],
	}
	if m.Name == "" {
		m.Name = fmt.Sprintf("vm%d", vm.ID)
	}
	if typ, _ := property(conf["machine"], "type", "type"); strings.Contains(typ, "q35") {
		m.Type = "q35"
	}
	m.UUID, _ = property(conf["smbios1"], "uuid", "")
	m.CPU, _ = property(conf["cpu"], "cputype", "cputype")
	if n := conf.number("vcpus", 0); n > 0 {
		m.CPUs = min(n, m.CPUs)
	}
	if hotplugFeatures(conf)["memory"] && conf["numa"] == "1" {
		large := conf["hugepages"] == "1024"
		m.Pluggable, m.Modules = true, memoryModules(staticMemory, m.Memory, large)
		m.Memory = staticMemory
	}
	for i := range 4 {
		if conf[fmt.Sprintf("serial%d", i)] == "socket" {
			m.Serial = append(m.Serial, i)
		}
	}
	m.Boot = conf.bootDevices()
	if k, ok := a.world.Kernels[a.system(&VM{ID: vm.ID, Node: vm.Node, Conf: conf})]; ok {
		m.Kernel = &k
	}
	for _, key := range conf.nets() {
		m.NICs = append(m.NICs, a.machineNIC(key, conf[key]))
	}
	if err := a.machineShares(m, conf); err != nil {
		return nil, err
	}
	return m, a.machineDrives(vm, m, conf)
}

func (s *Sim) machineNIC(key, value string) MachineNIC {
	first, _, _ := strings.Cut(value, ",")
	model, _, _ := strings.Cut(first, "=")
	if given, ok := property(value, "model", ""); ok {
		model = given
	}
	n := MachineNIC{Key: key, Model: model, MAC: netMAC(value), Down: perlBool(firstValue(value, "link_down"))}
	n.Bridge, n.Tag = firstValue(value, "bridge"), atoi(firstValue(value, "tag"))
	n.Lease = s.lease(n.MAC)
	return n
}

// machineShares adds the directories of the node that the VM shares.
func (s *Sim) machineShares(m *Machine, conf Conf) error {
	for i := range 10 {
		value := conf[fmt.Sprintf("virtiofs%d", i)]
		if value == "" {
			continue
		}
		id, _ := property(value, "dirid", "dirid")
		dir := s.state.DirMaps[id]
		if dir == nil {
			return die("Directory ID %s does not exist.", id)
		}
		at := slices.IndexFunc(dir.Map, func(entry string) bool { return firstValue(entry, "node") == m.Node })
		if at < 0 {
			return die("No directory mapping for node %s.", m.Node)
		}
		m.Shares = append(m.Shares, MachineShare{Tag: id, Path: firstValue(dir.Map[at], "path"), Cache: firstValue(value, "cache")})
	}
	return nil
}

// machineDrives adds the drives. Disks that never were needed are made.
func (a *actor) machineDrives(vm *VM, m *Machine, conf Conf) error {
	for _, d := range conf.drives() {
		drive := MachineDrive{Key: d.key, CDROM: d.cdrom(), Opts: map[string]string{}}
		for _, o := range d.opts {
			name, value, _ := strings.Cut(o, "=")
			drive.Opts[name] = value
		}
		vol, _ := a.volume(vm.Node, d.volume)
		switch {
		case d.key == "tpmstate0": // there is no TPM
			continue
		case d.cloudInit():
			files, label, err := (&cloudInit{Sim: a.Sim, vm: vm, conf: conf}).files()
			if err != nil {
				return err
			}
			if label != "cidata" {
				return die("%s: real machines take a cloud-init drive of type nocloud only", d.key)
			}
			drive.Seed = map[string]string{}
			for name, text := range files {
				drive.Seed[strings.TrimPrefix(name, "/")] = text
			}
		case !d.onStorage() && !d.cdrom():
			return die("%s: real machines have no access to '%s'", d.key, d.volume)
		case vol == nil:
		case d.cdrom() && vol.Content == "iso":
			if vol.Blob == "" {
				break // only said to be there
			}
			path, err := a.blobs.path(vol.Blob)
			if err != nil {
				return err
			}
			drive.ISO = path
		case d.key == "efidisk0":
			if vol.Disk == "" {
				if err := a.makeDisk(vol, NewDisk{UEFI: true, Enrolled: truthy(d.opt("pre-enrolled-keys"))}); err != nil {
					return err
				}
			}
			m.Vars = vol.Disk
			continue
		default:
			disk, err := a.diskOf(vol)
			if err != nil {
				return err
			}
			drive.Disk = disk
		}
		m.Drives = append(m.Drives, drive)
	}
	return nil
}

// canShare reports whether a directory exists on the hosts, for guests to use:
// with real machines this one is all of them.
func (s *Sim) canShare(path string) bool {
	if s.machines != nil {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	return s.hostDir(path)
}
