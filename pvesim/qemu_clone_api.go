package pvesim

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

// qemuCloneRoutes copy VMs and make templates.
func qemuCloneRoutes() map[string]handler {
	const vm = "/nodes/{node}/qemu/{vmid}"
	return map[string]handler{
		"POST " + vm + "/clone":    postClone,
		"POST " + vm + "/template": postTemplate,
		"GET " + vm + "/feature":   getFeature,
	}
}

// cloneJob is a clone as it was asked for.
type cloneJob struct {
	who               *access.Identity
	node              string
	vmid, newID       int
	name, note        string
	pool              string
	snap              string
	storage, format   string
	target            string // empty: the same node
	full              *bool
	running           bool // when the request came
	hasStore, hasForm bool
}

func postClone(c *call) (any, error) {
	job := &cloneJob{
		who: c.who, node: c.node(), vmid: c.params.Int("vmid"), newID: c.params.Int("newid"),
		name: c.params.Str("name"), note: c.params.Str("description"), pool: c.params.Str("pool"),
		snap: c.params.Str("snapname"), storage: c.params.Str("storage"), format: c.params.Str("format"),
		target: c.nodeName(c.params.Str("target")), hasStore: c.params.Has("storage"), hasForm: c.params.Has("format"),
	}
	if job.target == job.node {
		job.target = ""
	}
	if c.params.Has("full") {
		full := c.params.Bool("full")
		job.full = &full
	}
	vm, err := c.vm()
	if err != nil {
		return nil, noGuestOnNode(job.node, job.vmid)
	}
	job.running = vm.Run != nil
	if _, err := c.checkClone(job); err != nil {
		return nil, err
	}
	return c.forkVM("qmclone", func(t *task) error { return t.cloneVM(job) })
}

// clonePlan is what a clone will be made of.
type clonePlan struct {
	conf      Conf
	drives    []drive         // to be copied, by name
	full      map[string]bool // those that are copied in full
	pending   []string        // options that the source is waiting to change
	cloudInit Conf
}

// checkClone finds out whether and how the VM can be cloned. It is done when
// the request comes and again when the locks are held.
func (s *Sim) checkClone(job *cloneJob) (*clonePlan, error) {
	if job.pool != "" && s.state.Pools[job.pool] == nil {
		return nil, denied("pool '" + job.pool + "' does not exist")
	}
	if job.target != "" && s.state.Nodes[job.target] == nil {
		return nil, die("no such cluster node '%s'", job.target)
	}
	if err := s.checkCloneStorage(job); err != nil {
		return nil, err
	}
	vm, err := s.loadVM(job.node, job.vmid)
	if err != nil {
		return nil, err
	}
	if err := vm.checkLock(); err != nil {
		return nil, err
	}
	if (vm.Run != nil) != job.running {
		return nil, die("unexpected state change")
	}
	conf := vm.Conf
	if job.snap != "" {
		snap, err := vm.snapshot(job.snap)
		if err != nil {
			return nil, err
		}
		conf = snap.Conf
	}
	full := !vm.Template()
	if job.full != nil {
		full = *job.full
	}
	switch {
	case job.hasStore && !full:
		return nil, die("parameter 'storage' not allowed for linked clones")
	case job.hasForm && !full:
		return nil, die("parameter 'format' not allowed for linked clones")
	}
	shared, err := s.needCloneStorages(job, conf)
	if err != nil {
		return nil, err
	}
	if err := s.needCloneDevices(job, conf); err != nil {
		return nil, err
	}
	if job.target != "" && !shared {
		return nil, die("can't clone VM to node '%s' (VM uses local storage)", job.target)
	}
	if other := s.state.VMs[job.newID]; other != nil && other.Node == job.node {
		return nil, die("unable to create VM %d: config file already exists", job.newID)
	}
	plan, err := s.planClone(job, conf, full)
	if err != nil {
		return nil, err
	}
	if job.snap == "" {
		plan.cloudInit = vm.CloudInit.clone()
		plan.pending = vm.Pending.keys()
		if len(vm.Deletes) > 0 {
			plan.pending = append(plan.pending, "delete")
		}
	}
	return plan, nil
}

// checkCloneStorage checks the storage that the copies shall go to.
func (s *Sim) checkCloneStorage(job *cloneJob) error {
	if job.storage == "" {
		return nil
	}
	st, err := s.storageOn(job.node, job.storage)
	if err != nil {
		return err
	}
	if !st.HasContent("images") {
		return badParam("storage", "storage '%s' does not support vm images", job.storage)
	}
	if job.target == "" {
		return nil
	}
	if _, err := s.storageOn(job.target, job.storage); err != nil {
		return err
	}
	if !st.Shared() {
		return die("can't clone to non-shared storage '%s'", job.storage)
	}
	return nil
}

// needCloneStorages checks that the user may fill the storages. It tells
// whether all disks are on shared ones.
func (s *Sim) needCloneStorages(job *cloneJob, conf Conf) (shared bool, err error) {
	shared = true
	for _, d := range conf.drives() {
		switch {
		case d.volume == "" || d.volume == "none":
			continue
		case d.cdrom() && d.volume == "cdrom":
			if err := s.need(job.who, "/", "Sys.Console"); err != nil {
				return false, err
			}
			continue
		}
		id, _, ok := splitVolID(d.volume)
		if !ok {
			return false, die("unable to parse volume ID '%s'", d.volume)
		}
		st := s.state.Storages[id]
		if st == nil {
			return false, die("storage '%s' does not exist", id)
		}
		shared = shared && st.Shared()
		if d.cdrom() {
			continue
		}
		if job.storage != "" {
			id = job.storage
		}
		if err := s.need(job.who, "/storage/"+id, "Datastore.AllocateSpace"); err != nil {
			return false, err
		}
	}
	if id := conf["vmstatestorage"]; id != "" {
		if err := s.need(job.who, "/storage/"+id, "Datastore.AllocateSpace"); err != nil {
			return false, err
		}
	}
	return shared, nil
}

// needCloneDevices checks mapped devices, bridges and the CPU model.
func (s *Sim) needCloneDevices(job *cloneJob, conf Conf) error {
	if job.who.Root() {
		return nil
	}
	for _, key := range conf.keys() {
		value := conf[key]
		host, _ := property(value, "host", "host")
		mapping, _ := property(value, "mapping", "host")
		kind := strings.TrimRight(key, "0123456789")
		var err error
		switch {
		case kind == "usb" && host != "":
			if !strings.EqualFold(host, "spice") {
				err = die("only root can set '%s' config for real devices", key)
			}
		case kind == "hostpci" && host != "":
			err = die("only root can set '%s' config for non-mapped devices", key)
		case (kind == "usb" || kind == "hostpci") && mapping == "":
			err = die("either 'host' or 'mapping' must be set.")
		case kind == "usb":
			err = s.need(job.who, "/mapping/usb/"+mapping, "Mapping.Use")
		case kind == "hostpci":
			err = s.need(job.who, "/mapping/pci/"+mapping, "Mapping.Use")
		case kind == "rng":
			if source, _ := property(value, "source", "source"); source == "/dev/hwrng" {
				err = s.need(job.who, "/mapping/hwrng", "Mapping.Use")
			}
		case kind == "virtiofs":
			id, _ := property(value, "dirid", "dirid")
			err = s.need(job.who, "/mapping/dir/"+id, "Mapping.Use")
		}
		if err != nil {
			return err
		}
	}
	return s.needNets(job.who, conf)
}

// notCloned are options that belong to the source alone.
var notCloned = []string{
	"parent", "snaptime", "vmstate", "snapstate", "runningcpu", "runningmachine", "running-nets-host-mtu",
}

// planClone makes the new config and says which disks are copied and how.
func (s *Sim) planClone(job *cloneJob, conf Conf, full bool) (*clonePlan, error) {
	plan := &clonePlan{conf: Conf{"lock": "clone"}, full: map[string]bool{}}
	for _, key := range conf.keys() {
		switch {
		case slices.Contains(notCloned, key) || family(key, "unused"):
			continue
		case full && job.running && job.snap == "" && key == "tpmstate0":
			return nil, die("cannot clone TPM state while VM is running")
		case family(key, "net"):
			plan.conf[key] = s.newMAC(job.newID, key, conf[key])
			continue
		case !isDriveKey[key]:
			plan.conf[key] = conf[key]
			continue
		}
		d := parseDrive(key, conf[key])
		if d.disc() {
			plan.conf[key] = conf[key]
			continue
		}
		feature, word := "clone", "Linked"
		if full || d.cloudInit() || key == "tpmstate0" {
			feature, word = "copy", "Full"
			plan.full[key] = true
		}
		if !s.volumeFeature(d.volume, feature, job.snap) {
			of := ""
			if job.snap != "" {
				of = " a snapshot of"
			}
			return nil, die("%s clone feature is not supported for%s '%s' (%s)", word, of, d.volume, key)
		}
		plan.drives = append(plan.drives, d)
	}
	return plan, nil
}

// newMAC gives a network card another address.
func (s *Sim) newMAC(vmid int, key, value string) string {
	props, ok := s.parseNet(vmid, key, value)
	if !ok {
		return value
	}
	props.Set("macaddr", s.mac(itoa(vmid), key))
	return s.printNet(props)
}
