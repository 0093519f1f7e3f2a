package pvesim

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

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
