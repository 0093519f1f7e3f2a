package pvesim

import (
	"debug/elf"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// change is a request to change a VM's config.
type change struct {
	node      string
	vmid      int
	who       *access.Identity
	set       *given
	deletes   []string
	revert    []string
	force     bool
	skipLock  bool
	digest    string
	work      string // storage where archives are unpacked
	noDrive   bool   // leave the cloud-init drive alone
	logLine   string
	bootOrder []string
}

// readChange takes a change out of a request and checks all that doesn't
// need the VM's config.
func readChange(c *call) (*change, error) {
	p := c.params
	ch := &change{
		node: c.node(), vmid: p.Int("vmid"), who: c.who, digest: p.Str("digest"), work: p.Str("import-working-storage"),
		noDrive: p.Bool("skip_cloud_init"), skipLock: p.Bool("skiplock"), force: p.Bool("force"),
		set: newGiven(p, sortedKeys(notOptions)...),
	}
	ch.logLine = logLine(p)
	if ch.skipLock && !c.who.Root() {
		return nil, badParam("skiplock", "Only root may use this option.")
	}
	set := ch.set
	if keys, ok := set.conf["sshkeys"]; ok {
		if err := checkSSHKeys(keys); err != nil {
			return nil, err
		}
	}
	set.clampCPUUnits()
	if !truthy(p.Str("delete")) && !truthy(p.Str("revert")) && len(set.keys()) == 0 {
		return nil, die("no options specified")
	}
	set.aliasCDROM()
	if err := ch.readLists(c.Sim, p); err != nil {
		return nil, err
	}
	if err := c.checkDrives(ch.node, set); err != nil {
		return nil, err
	}
	if err := ch.normalise(c.Sim); err != nil {
		return nil, err
	}
	if err := c.needOptions(c.who, ch.vmid, "", ch.deletes); err != nil {
		return nil, err
	}
	if err := c.needOptions(c.who, ch.vmid, "", set.keys()); err != nil {
		return nil, err
	}
	if err := c.needStorages(c.who, ch.vmid, set.conf, "", ch.work); err != nil {
		return nil, err
	}
	return ch, c.needNets(c.who, set.conf)
}

// logLine is the first line of the task's log: all parameters, as on a
// command line.
func logLine(p schema.Params) string {
	var words []string
	for _, k := range p.Keys() {
		switch {
		case slices.Contains([]string{"node", "vmid", "digest", "background_delay", "skip_cloud_init", "import-working-storage"}, k):
		case k == "cipassword":
			words = append(words, "-"+k, "<hidden>")
		default:
			words = append(words, "-"+k, p.Str(k))
		}
	}
	return strings.Join(words, " ")
}

// clampCPUUnits keeps the CPU weight within what cgroups can do.
func (g *given) clampCPUUnits() {
	if n, err := strconv.Atoi(g.conf["cpuunits"]); err == nil && n >= 10000 {
		g.conf["cpuunits"] = "10000"
	}
}

// readLists reads which options are to go and which to stay as they are.
func (ch *change) readLists(s *Sim, p schema.Params) error {
	for _, key := range schema.SplitList(p.Str("revert")) {
		if s.optionKind(key) == "" {
			return badParam("revert", "unknown option '%s'", key)
		}
		if _, ok := ch.set.conf[key]; ok {
			return badParam("delete", "you can't use '-%s' and -revert %s' at the same time", key, key)
		}
		ch.revert = append(ch.revert, key)
	}
	for _, key := range schema.SplitList(p.Str("delete")) {
		if key == "cdrom" {
			key = "ide2"
		}
		if _, ok := ch.set.conf[key]; ok {
			return badParam("delete", "you can't use '-%s' and -delete %s' at the same time", key, key)
		}
		if slices.Contains(ch.revert, key) {
			return badParam("revert", "you can't use '-delete %s' and -revert %s' at the same time", key, key)
		}
		if s.optionKind(key) == "" {
			return badParam("delete", "unknown option '%s'", key)
		}
		ch.deletes = append(ch.deletes, key)
	}
	return nil
}

// normalise gives values their stored form where that isn't just the text.
func (ch *change) normalise(s *Sim) error {
	for _, key := range ch.set.keys() {
		value := ch.set.conf[key]
		switch {
		case family(key, "net"):
			net, ok := s.parseNet(ch.vmid, key, value)
			if !ok { // it came without a value
				return &apiError{status: 500, text: "format error", fields: schema.Errors{"_root": "an object is required"}}
			}
			ch.set.conf[key] = s.printNet(net)
		case key == "vmgenid" && value == "1":
			ch.set.conf[key] = s.uuid(strconv.Itoa(ch.vmid), "vmgenid")
		case key == "hookscript":
			if err := s.checkHook(ch.node, value); err != nil {
				return badParam(key, "%s", perlText(err))
			}
		}
	}
	return nil
}

// checkHook makes sure that a hook script is there and can be run.
func (s *Sim) checkHook(node, volid string) error {
	n, err := s.parseVolID(volid)
	if err != nil {
		return err
	}
	if n.kind != "snippets" {
		return die("'%s' is not in the snippets directory", volid)
	}
	v, _ := s.volume(node, volid)
	if v == nil {
		return die("script '%s' does not exist", volid)
	}
	text, err := s.blobText(v)
	if err != nil {
		return err
	}
	// Files have no mode here: programs and those that say what runs them can
	// be run.
	if text != "" && !strings.HasPrefix(text, "#!") && !strings.HasPrefix(text, elf.ELFMAG) {
		return die("script '%s' is not executable", volid)
	}
	return nil
}

// check makes sure that the VM may be changed now. With final it also
// completes the change with what depends on the config.
func (ch *change) check(s *Sim, final bool) (*VM, error) {
	vm, err := s.loadVM(ch.node, ch.vmid)
	if err != nil {
		return nil, err
	}
	if truthy(ch.digest) && ch.digest != vm.Digest() {
		return nil, die("checksum mismatch (file change by other user?)")
	}
	wakes := slices.Contains(ch.deletes, "vmstate") && vm.Conf["lock"] == "suspended"
	if slices.Contains(ch.deletes, "vmstate") && final {
		if wakes {
			ch.deletes = append(ch.deletes, "lock")
		}
		for _, key := range []string{"runningmachine", "runningcpu", "running-nets-host-mtu"} {
			if truthy(vm.Conf[key]) {
				ch.deletes = append(ch.deletes, key)
			}
		}
	}
	if !ch.skipLock && !wakes {
		if err := vm.checkLock(); err != nil {
			return nil, err
		}
	}
	for _, key := range ch.revert {
		if value, ok := vm.Conf[key]; ok {
			ch.set.conf[key] = value
		} else if _, ok := vm.Pending[key]; ok && final {
			ch.deletes = append(ch.deletes, key)
		}
	}
	return vm, ch.checkBalloon(vm)
}

// checkBalloon keeps the balloon's target within the memory.
func (ch *change) checkBalloon(vm *VM) error {
	first := func(texts ...string) string {
		for _, t := range texts {
			if truthy(t) {
				return t
			}
		}
		return ""
	}
	balloon, asked := ch.set.conf["balloon"]
	if !asked && !truthy(ch.set.conf["memory"]) {
		return nil
	}
	if !asked {
		balloon = first(vm.Pending["balloon"], vm.Conf["balloon"])
	}
	memory := first(ch.set.conf["memory"], vm.Pending["memory"], vm.Conf["memory"])
	if n, err := strconv.ParseInt(balloon, 10, 64); err == nil && n > memoryOf(Conf{"memory": memory})>>20 {
		return die("balloon value too large (must be smaller than assigned memory)")
	}
	return nil
}
