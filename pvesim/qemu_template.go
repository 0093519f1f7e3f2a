package pvesim

// checkTemplate refuses VMs that can't become a template.
func (s *Sim) checkTemplate(node string, vmid int, disk string) (*VM, error) {
	vm, err := s.loadVM(node, vmid)
	if err != nil {
		return nil, err
	}
	if err := vm.checkLock(); err != nil {
		return nil, err
	}
	switch {
	case len(vm.Snaps) > 0:
		return nil, die("unable to create template, because VM contains snapshots")
	case vm.Template() && disk == "":
		return nil, die("you can't convert a template to a template")
	case vm.Run != nil:
		return nil, die("you can't convert a VM to template if VM is running")
	}
	return vm, nil
}

func postTemplate(c *call) (any, error) {
	node, vmid, disk := c.node(), c.params.Int("vmid"), c.params.Str("disk")
	if _, err := c.checkTemplate(node, vmid, disk); err != nil {
		return nil, err
	}
	return c.forkVM("qmtemplate", func(t *task) error {
		return t.lockedVM(node, vmid, func(*VM) error { return t.makeTemplate(node, vmid, disk) })
	})
}

// makeTemplate marks the VM and turns its disks, or the one that was named,
// into base volumes. A disk that the VM lacks leaves half a template.
func (t *task) makeTemplate(node string, vmid int, disk string) error {
	vm, err := t.checkTemplate(node, vmid, disk)
	if err != nil {
		return err
	}
	vm.Conf["template"] = "1"
	vm.touch()
	t.sleep(t.world.Timing.Template.D())
	for _, d := range vm.Conf.drives() {
		if d.cdrom() || disk != "" && d.key != disk {
			continue
		}
		if !t.volumeFeature(d.volume, "template", "") {
			continue
		}
		base, err := t.makeBase(node, d.volume)
		if err != nil {
			return err
		}
		d.volume = base
		vm.Conf[d.key] = d.String()
		vm.touch()
	}
	return nil
}

// getFeature reports whether the VM's disks can do something, and on which
// nodes they are.
func getFeature(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, noGuestOnNode(c.node(), c.params.Int("vmid"))
	}
	conf, snap := vm.Conf, c.params.Str("snapname")
	if snap != "" {
		s, err := vm.snapshot(snap)
		if err != nil {
			return nil, err
		}
		conf = s.Conf
	}
	nodes, err := c.sharedNodes(vm.Node, conf)
	if err != nil {
		return nil, err
	}
	has := 0
	if c.hasFeature(conf, c.params.Str("feature"), snap) {
		has = 1
	}
	return map[string]any{"hasFeature": has, "nodes": nodes}, nil
}

// sharedNodes lists the nodes on which all the disks can be used.
func (s *Sim) sharedNodes(node string, conf Conf) ([]string, error) {
	nodes := []string{}
	for _, name := range sortedKeys(s.state.Nodes) {
		ok := true
		for _, d := range conf.drives() {
			id, _, isVolume := splitVolID(d.volume)
			if !isVolume {
				continue
			}
			st := s.state.Storages[id]
			switch {
			case st == nil:
				return nil, die("storage '%s' does not exist", id)
			case st.Conf["disable"] == "1":
				ok = false
			case st.Conf["nodes"] != "":
				ok = ok && st.OnNode(name)
			case !st.Shared():
				ok = ok && name == node
			}
		}
		if ok {
			nodes = append(nodes, name)
		}
	}
	return nodes, nil
}
