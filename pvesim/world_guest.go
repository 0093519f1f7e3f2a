package pvesim

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

// addWorldGuest makes the VMs of a world's entry, without tasks and at once.
func (s *Sim) addWorldGuest(g WorldGuest) error {
	if s.state.Nodes[g.Node] == nil {
		return fmt.Errorf("node %q isn't there", g.Node)
	}
	for i := range max(1, g.Count) {
		if s.state.VMs[g.ID+i] != nil {
			return fmt.Errorf("VM %d is there already", g.ID+i)
		}
		if err := s.makeWorldVM(g, g.ID+i, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sim) makeWorldVM(g WorldGuest, vmid, number int) error {
	conf := Conf(maps.Clone(g.Config))
	if conf == nil {
		conf = Conf{}
	}
	conf["name"] = strings.ReplaceAll(conf["name"], "%d", strconv.Itoa(number))
	if conf["name"] == "" {
		delete(conf, "name")
	}
	a := &actor{Sim: s}
	for _, d := range conf.drives() {
		value, err := a.makeWorldDisk(g.Node, vmid, d, g.System.Meant())
		if err != nil {
			return fmt.Errorf("%s: %w", d.key, err)
		}
		conf[d.key] = value
	}
	for key, value := range conf {
		if strings.HasPrefix(key, "net") && !macInNet.MatchString(value) {
			model, rest, _ := strings.Cut(value, ",")
			conf[key] = strings.TrimSuffix(model+"="+s.mac(strconv.Itoa(vmid), key)+","+rest, ",")
		}
	}
	id := strconv.Itoa(vmid)
	setDefault(conf, "smbios1", "uuid="+s.uuid(id, "smbios"))
	setDefault(conf, "vmgenid", s.uuid(id, "vmgenid"))
	setDefault(conf, "meta", fmt.Sprintf("creation-qemu=%s,ctime=%d", s.qemuVersion(), s.now().Unix()))
	vm := &VM{ID: vmid, Node: g.Node, Conf: conf, Snaps: map[string]*Snap{}, Pending: Conf{}, Deletes: map[string]bool{}}
	s.putVM(vm)
	if g.Pool != "" {
		if s.state.Pools[g.Pool] == nil {
			return fmt.Errorf("pool %q isn't there", g.Pool)
		}
		s.addVMToPool(vmid, g.Pool)
	}
	if g.Template {
		return a.makeWorldTemplate(vm)
	}
	switch {
	case g.Running && s.machines != nil:
		s.forkStart(g.Node, vmid, &access.Identity{User: access.Root})
	case g.Running:
		s.powerOn(vm)
		vm.Run.skipBoot(s.now())
	}
	return nil
}

var (
	macInNet  = regexp.MustCompile(`(?i)^[a-z0-9_-]+=[0-9a-f]{2}(:[0-9a-f]{2}){5}|macaddr=`)
	newVolume = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.-]*):(\d+(?:\.\d+)?)$`)
)

// makeWorldDisk allocates "storage:GiB" and "storage:cloudinit".
func (a *actor) makeWorldDisk(node string, vmid int, d drive, system System) (string, error) {
	if storage, ok := strings.CutSuffix(d.volume, ":cloudinit"); ok && a.state.Storages[storage] != nil {
		name := fmt.Sprintf("vm-%d-cloudinit", vmid)
		format := "raw"
		if a.state.Storages[storage].Conf["path"] != "" {
			format = "qcow2"
			name += ".qcow2"
		}
		volid, err := a.allocNow(node, storage, vmid, format, name, 4096, nil)
		if err != nil {
			return "", err
		}
		return volid + ",media=cdrom", nil
	}
	m := newVolume.FindStringSubmatch(d.volume)
	if m == nil {
		return d.String(), nil
	}
	gib, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return "", err
	}
	format := d.opt("format")
	if format == "" {
		format = a.defaultFormat(m[1])
	}
	volid, err := a.allocNow(node, m[1], vmid, format, "", int64(gib*1024*1024), nil)
	if err != nil {
		return "", err
	}
	if v, _ := a.volume(node, volid); v != nil {
		v.System = system
	}
	d.volume = volid
	d.set("format", "")
	d.set("size", sizeText(int64(gib*(1<<30))))
	return d.String(), nil
}

// makeWorldTemplate turns a world's VM into a template.
func (a *actor) makeWorldTemplate(vm *VM) error {
	for _, d := range vm.Conf.drives() {
		if !d.onStorage() || d.cdrom() {
			continue
		}
		base, err := a.makeBaseNow(vm.Node, d.volume)
		if err != nil {
			return err
		}
		d.volume = base
		vm.Conf[d.key] = d.String()
	}
	vm.Conf["template"] = "1"
	vm.touch()
	return nil
}

// sizeText prints a disk size as Proxmox does: in the largest unit that
// divides it.
func sizeText(n int64) string {
	for _, u := range []struct {
		unit string
		div  int64
	}{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if n >= u.div && n%u.div == 0 {
			return strconv.FormatInt(n/u.div, 10) + u.unit
		}
	}
	return strconv.FormatInt(n, 10)
}

func setDefault(c Conf, key, value string) {
	if _, ok := c[key]; !ok {
		c[key] = value
	}
}
