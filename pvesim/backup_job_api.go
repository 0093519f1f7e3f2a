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
