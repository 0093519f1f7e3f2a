package pvesim

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// backupJobRoutes are the backups that are made regularly. They are kept and
// shown; nobody runs them.
func backupJobRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/backup":                       listBackupJobs,
		"POST /cluster/backup":                      createBackupJob,
		"GET /cluster/backup/{id}":                  getBackupJob,
		"PUT /cluster/backup/{id}":                  updateBackupJob,
		"DELETE /cluster/backup/{id}":               deleteBackupJob,
		"GET /cluster/backup/{id}/included_volumes": includedVolumes,
		"GET /cluster/backup-info/not-backed-up":    notBackedUp,
	}
}

// BackupJob is a section of jobs.cfg.
type BackupJob struct {
	Options map[string]string `json:"options"`
	Order   int               `json:"order"` // in the file
}

// backupJobs are the jobs in their order.
func (s *Sim) backupJobs() []string {
	return slices.SortedFunc(maps.Keys(s.state.BackupJobs), func(a, b string) int {
		return s.state.BackupJobs[a].Order - s.state.BackupJobs[b].Order
	})
}

// backupJobEntry is a job as it is shown: what is a property string in the
// file is an object here.
func (c *call) backupJobEntry(id string) map[string]any {
	options := c.state.BackupJobs[id].Options
	out := typed(c.schema.Lookup("POST", "/cluster/backup"), options)
	for _, key := range []string{"prune-backups", "fleecing", "performance"} {
		if options[key] == "" {
			continue
		}
		parts := map[string]string{}
		for _, part := range schema.SplitList(options[key]) {
			if k, v, ok := strings.Cut(part, "="); ok {
				parts[k] = v
			}
		}
		out[key] = parts
	}
	out["id"], out["type"] = id, "vzdump"
	return out
}

func listBackupJobs(c *call) (any, error) {
	list := []map[string]any{}
	for _, id := range c.backupJobs() {
		list = append(list, c.backupJobEntry(id))
	}
	return list, nil
}

func getBackupJob(c *call) (any, error) {
	id := c.params.Str("id")
	if c.state.BackupJobs[id] == nil {
		return nil, noBackupJob(id)
	}
	return c.backupJobEntry(id), nil
}

func noBackupJob(id string) error { return badParam("id", "No such job '%s'", id) }

// inJobs is an error that comes out of the lock of jobs.cfg, as plain text.
func inJobs(err error) error {
	if err == nil {
		return nil
	}
	return die("%s", strings.TrimSuffix(perlText(err), "\n"))
}

// mayBackUp checks what the options of a job need beyond the schema's rules.
func (c *call) mayBackUp() error {
	if pool := c.params.Str("pool"); pool != "" {
		if c.state.Pools[pool] == nil {
			return denied("pool '" + pool + "' does not exist")
		}
		if err := c.need(c.who, "/pool/"+pool, "VM.Backup"); err != nil {
			return err
		}
	}
	if c.who.Root() {
		return nil
	}
	for _, key := range []string{"tmpdir", "dumpdir", "script", "job-id"} {
		if c.params.Has(key) {
			return badParam(key, "Only root may set this option.")
		}
	}
	for _, part := range schema.SplitList(c.params.Str("fleecing")) {
		if storage, ok := strings.CutPrefix(part, "storage="); ok {
			if err := c.need(c.who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
				return err
			}
		}
	}
	storage := c.params.Str("storage")
	if storage == "" && c.ep.Method == "POST" {
		storage = "local"
	}
	if storage != "" {
		return c.need(c.who, "/storage/"+storage, "Datastore.Allocate")
	}
	return nil
}

// backupJobOptions are the options in the parameters, with the old way to say
// when replaced by the new one.
func (c *call) backupJobOptions(create bool) (map[string]string, error) {
	options := c.section("id")
	start, dow := options["starttime"], strings.Join(schema.SplitList(options["dow"]), ",")
	delete(options, "starttime")
	delete(options, "dow")
	switch {
	case options["schedule"] != "" && start != "":
		return nil, badParam("starttime", "'starttime' and 'schedule' cannot both be set")
	case options["schedule"] == "" && start == "" && create:
		return nil, badParam("schedule", "neither 'starttime' nor 'schedule' were set")
	case start != "" && (dow == "" || dow == "mon,tue,wed,thu,fri,sat,sun"):
		options["schedule"] = start
	case start != "":
		options["schedule"] = dow + " " + start
	}
	for _, v := range options {
		if strings.ContainsAny(v, "\r\n") {
			return nil, inJobs(die("property contains a line feed"))
		}
	}
	return options, nil
}

// checkBackedUp refuses options that say in two ways, or not at all, which
// guests are backed up.
func checkBackedUp(options map[string]string, complete bool) error {
	for _, key := range []string{"all", "exclude", "pool"} {
		if truthy(options[key]) && truthy(options["vmid"]) {
			return badParam(key, "option conflicts with option 'vmid'")
		}
	}
	if _, ok := options["exclude"]; ok && !truthy(options["pool"]) {
		options["all"] = "1"
	}
	some := truthy(options["all"]) || truthy(options["stop"]) || truthy(options["pool"]) || truthy(options["vmid"])
	if complete && !some {
		return badParam("vmid", "property is missing")
	}
	return nil
}

func createBackupJob(c *call) (any, error) {
	if err := c.mayBackUp(); err != nil {
		return nil, err
	}
	options, err := c.backupJobOptions(true)
	if err != nil {
		return nil, err
	}
	if _, ok := options["enabled"]; !ok {
		options["enabled"] = "1"
	}
	id := c.params.Str("id")
	if id == "" {
		id = c.uuid("backup job")
	}
	if c.state.BackupJobs[id] != nil {
		return nil, die("Job '%s' already exists", id)
	}
	if err := checkBackedUp(options, true); err != nil {
		return nil, inJobs(err)
	}
	order := 1
	for _, job := range c.state.BackupJobs {
		order = max(order, job.Order+1)
	}
	c.state.BackupJobs[id] = &BackupJob{Options: keepSection(options), Order: order}
	return nil, nil
}

func updateBackupJob(c *call) (any, error) {
	if err := c.mayBackUp(); err != nil {
		return nil, err
	}
	options, err := c.backupJobOptions(false)
	if err != nil {
		return nil, err
	}
	return nil, inJobs(c.changeBackupJob(c.params.Str("id"), options, c.params.List("delete")))
}

func (c *call) changeBackupJob(id string, options map[string]string, remove []string) error {
	if len(options) == 0 && len(remove) == 0 {
		return die("no options specified")
	}
	if err := checkBackedUp(options, false); err != nil {
		return err
	}
	job := c.state.BackupJobs[id]
	if job == nil {
		return die("no such vzdump job")
	}
	next := maps.Clone(job.Options)
	create := c.schema.Lookup("POST", "/cluster/backup")
	for _, key := range remove {
		if create.Param(key) == nil || slices.Contains([]string{"id", "schedule", "enabled", "starttime", "dow"}, key) {
			return badParam("delete", "unknown option '%s'", key)
		}
		delete(next, key)
	}
	maps.Copy(next, options)
	if _, ok := next["exclude"]; ok && next["pool"] == "" {
		next["all"] = "1"
	}
	drop := func(keys ...string) {
		for _, k := range keys {
			delete(next, k)
		}
	}
	switch {
	case c.params.Has("vmid"):
		drop("all", "exclude", "pool")
	case truthy(options["all"]):
		drop("vmid", "pool")
	case truthy(next["pool"]):
		drop("vmid", "all", "exclude")
	}
	if err := checkBackedUp(next, true); err != nil {
		return err
	}
	job.Options = keepSection(next)
	return nil
}

func deleteBackupJob(c *call) (any, error) {
	id := c.params.Str("id")
	if c.state.BackupJobs[id] == nil {
		return nil, inJobs(noBackupJob(id))
	}
	delete(c.state.BackupJobs, id)
	return nil, nil
}

// backedUp are the guests that a job backs up.
func (s *Sim) backedUp(job *BackupJob) []int {
	var ids []int
	not := schema.SplitList(job.Options["exclude"])
	switch pool := s.state.Pools[job.Options["pool"]]; {
	case truthy(job.Options["all"]):
		ids = slices.Sorted(maps.Keys(s.state.VMs))
	case pool != nil:
		ids = slices.Sorted(maps.Keys(pool.VMs))
	default:
		for _, id := range schema.SplitList(job.Options["vmid"]) {
			ids = append(ids, atoi(id))
		}
	}
	return slices.DeleteFunc(ids, func(id int) bool {
		vm := s.state.VMs[id]
		return vm == nil || slices.Contains(not, itoa(id)) || job.Options["node"] != "" && job.Options["node"] != vm.Node
	})
}

// includedVolumes says for each disk whether a job backs it up.
func includedVolumes(c *call) (any, error) {
	id := c.params.Str("id")
	job := c.state.BackupJobs[id]
	if job == nil {
		return nil, noBackupJob(id)
	}
	guests := []map[string]any{}
	for _, vmid := range c.backedUp(job) {
		if !c.has(c.who, vmPath(vmid), "VM.Audit") {
			continue
		}
		vm := c.state.VMs[vmid]
		disks := []map[string]any{}
		for _, d := range vm.Conf.drives() {
			if d.cdrom() {
				continue
			}
			included, reason := d.opt("backup") != "0", "backup=yes"
			if d.opt("backup") != "" {
				reason = "backup=no"
			}
			if d.key == "efidisk0" && vm.Conf["bios"] != "ovmf" {
				included, reason = false, "efidisk but no OMVF BIOS"
			}
			disks = append(disks, map[string]any{"id": d.key, "name": d.volume, "included": flagInt(included), "reason": reason})
		}
		guests = append(guests, map[string]any{"id": vmid, "type": "qemu", "name": vm.Conf["name"], "children": disks})
	}
	return map[string]any{"children": guests}, nil
}

// notBackedUp lists the guests that no job backs up.
func notBackedUp(c *call) (any, error) {
	covered := map[int]bool{}
	for _, job := range c.state.BackupJobs {
		for _, id := range c.backedUp(job) {
			covered[id] = true
		}
	}
	list := []map[string]any{}
	for id, vm := range c.state.VMs {
		if covered[id] || !c.has(c.who, vmPath(id), "VM.Audit") {
			continue
		}
		m := map[string]any{"vmid": id, "type": "qemu"}
		if name := vm.Conf["name"]; name != "" {
			m["name"] = name
		}
		list = append(list, m)
	}
	return list, nil
}
