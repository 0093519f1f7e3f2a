package pvesim

import (
	"maps"
	"strings"
)

// draft is a config that is being changed: what Proxmox reads from the file,
// works on and writes back.
type draft struct {
	conf    Conf
	pending Conf
	deletes map[string]bool // true: their volumes too
	// cloudInit says how the config differs from what the cloud-init drive
	// was made of: the old values, and under "added" the new options.
	cloudInit Conf
}

func (v *VM) draft() *draft {
	d := &draft{conf: v.Conf.clone(), pending: v.Pending.clone(), deletes: maps.Clone(v.Deletes), cloudInit: v.CloudInit.clone()}
	if d.conf == nil {
		d.conf = Conf{}
	}
	if d.pending == nil {
		d.pending = Conf{}
	}
	if d.deletes == nil {
		d.deletes = map[string]bool{}
	}
	return d
}

// store writes a draft: values are checked and come out as the file's reader
// would find them. When it fails the VM is as before.
func (s *Sim) store(vm *VM, d *draft) error {
	if truthy(d.conf["sockets"]) {
		delete(d.conf, "smp")
	} else if truthy(d.conf["smp"]) {
		d.conf["sockets"] = d.conf["smp"]
		delete(d.conf, "cores")
		delete(d.conf, "smp")
	}
	conf, err := s.rereadSection(d.conf, vm.Conf, false)
	if err != nil {
		return err
	}
	pending, err := s.rereadSection(d.pending, vm.Pending, true)
	if err != nil {
		return err
	}
	dropUsed(conf, pending)
	vm.Conf, vm.Pending, vm.Deletes = conf, pending, d.deletes
	vm.CloudInit = nil
	if conf.cloudInitKey("") != "" {
		vm.CloudInit = d.cloudInit
	}
	vm.touch()
	s.dirty()
	*d = *vm.draft()
	return nil
}

// rereadSection writes and reads a section; values equal to those in old
// went through this before.
func (s *Sim) rereadSection(c, old Conf, pending bool) (Conf, error) {
	out := make(Conf, len(c))
	for _, k := range c.keys() {
		v := c[k]
		if k == "description" {
			if note, ok := rereadNote(v, pending); ok {
				out[k] = note
			}
			continue
		}
		if before, ok := old[k]; ok && before == v {
			out[k] = v
			continue
		}
		stored, ok, err := s.reread(k, v)
		if err != nil {
			return nil, err
		}
		if ok {
			out[k] = stored
		}
	}
	return out, nil
}

// dropUsed removes unusedN entries of volumes that are in use again.
func dropUsed(conf, pending Conf) {
	var unused []string
	for k := range conf {
		if strings.HasPrefix(k, "unused") {
			unused = append(unused, k)
		}
	}
	if len(unused) == 0 {
		return
	}
	used := map[string]bool{}
	for _, section := range []Conf{conf, pending} {
		for _, d := range section.drives() {
			used[d.volume] = true
		}
	}
	for _, k := range unused {
		if used[conf[k]] {
			delete(conf, k)
		}
	}
}

// current is the config with what is pending taken in.
func (v *VM) current() Conf {
	c := v.Conf.clone()
	maps.Copy(c, v.Pending)
	for k := range v.Deletes {
		if truthy(c[k]) {
			delete(c, k)
		}
	}
	return c
}
