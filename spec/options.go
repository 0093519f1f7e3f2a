package spec

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/spec/suggest"
)

// options are options of Proxmox in canonical spelling; "" means that the option
// is to be absent.
type options map[string]string

func (o options) set(key, value string) { o[key] = prop.Canonical(key, value) }

// fill sets what isn't said yet.
func (o options) fill(more map[string]string) {
	for key, value := range more {
		if _, said := o[key]; !said {
			o.set(key, value)
		}
	}
}

// managed are the options that go when the manifest no longer names them.
func (o options) managed() []string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if o[k] != "" && !model.Kept(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// option sets an option that a field stands for, if the field has a value.
func (r *report) option(o options, field, key, value string) {
	if value == "" {
		return
	}
	if err := checkOption(key, value); err != nil {
		r.fail(field, "%v", err)
		return
	}
	o.set(key, value)
}

// fieldFor says which field is for an option that can't be an extra one.
var fieldFor = map[string]Message{
	"cores": ofClass("cpus"), "sockets": ofClass("sockets"), "memory": ofClass("memory"), "tpmstate": ofClass("tpm"),
	"vcpus":   message("%s and %s of the %s", called("cpus"), called("maxCPUs"), TheClass),
	"efidisk": message("%s: uefi of the %s", called("bios"), TheClass),
	"name":    ofMachine("name"), "description": ofMachine("description"), "tags": ofMachine("tags"), "net": ofMachine("networks"),
	"ipconfig": ofNetwork("staticIP"), "nameserver": ofNetwork("staticIP.dns"), "searchdomain": ofNetwork("staticIP.search"),
	"ide": ofMachine("disks"), "sata": ofMachine("disks"), "scsi": ofMachine("disks"), "virtio": ofMachine("disks"), "unused": ofMachine("disks"), "cdrom": ofMachine("disks"),
	"cicustom": ofMachine("userData"),
}

func ofClass(path string) Message   { return message("%s of the %s", called(path), TheClass) }
func ofMachine(path string) Message { return message("%s", inMachine("%s", path)) }
func ofNetwork(path string) Message { return message("%s of %s", called(path), inMachine("networks")) }

// rootOnly are options that only root@pam itself may set.
var rootOnly = []string{"affinity", "args", "hookscript", "hugepages", "keephugepages"}

// noOption are parameters of the call that aren't options of a guest.
var noOption = []string{
	"node", "vmid", "digest", "delete", "revert", "force", "skiplock", "background_delay", "import-working-storage", "lock", "template",
	"vmstate", "parent", "snaptime", "runningmachine", "runningcpu",
}

// extraConfig checks options that are named as Proxmox does. Those of typed are
// said by fields already.
func (r *report) extraConfig(extra map[string]string, typed options, class bool) map[string]string {
	good := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		field, value := "extraConfig."+key, extra[key]
		family := strings.TrimRight(key, "0123456789")
		_, said := typed[key]
		if key == "hotplug" && !class {
			said = false // the class only follows from its other fields what it should be
		}
		where, instead := fieldFor[family]
		_, whole := fieldFor[key]
		switch {
		case instead && (family != key || whole):
			r.fail(field, "%s is for that", where)
		case said:
			r.fail(field, "another field says it already")
		case key == "vmgenid" && value == "1":
			r.fail(field, "Proxmox makes one by itself; leave it out")
		case slices.Contains(noOption, key):
			r.fail(field, "isn't an option of a machine")
		case key == "hookscript" && value != "" && (hookblock.Block{HookScripts: []string{value}}).Check() != nil:
			r.fail(field, "want a volume such as local:snippets/notify.sh, have %q", suggest.Shortened(value))
		default:
			if err := checkOption(key, value); err != nil {
				r.fail(field, "%v", err)
				continue
			}
			if slices.Contains(rootOnly, key) {
				r.tell(field, "only root@pam itself, with its password, may set this; API tokens may not")
			}
			good[key] = value
		}
	}
	return good
}

// configure are the calls that configure a guest, in the schemas of the releases of Proxmox.
var configure = sync.OnceValues(func() (calls []*schema.Endpoint, err error) {
	return endpoints("PUT", "/nodes/{node}/qemu/{vmid}/config")
})

// endpoints are a call in the schemas of the releases of Proxmox.
func endpoints(method, path string) (calls []*schema.Endpoint, err error) {
	for _, release := range schema.Releases() {
		s, err := schema.Load(release)
		if err != nil {
			return nil, err
		}
		calls = append(calls, s.Lookup(method, path))
	}
	return calls, nil
}

// checkOption checks an option against the schema of the releases of Proxmox: what one of
// them takes is good.
func checkOption(key, value string) error {
	calls, err := configure()
	if err != nil {
		return err
	}
	return checkParam(calls, key, value)
}

// checkParam checks a parameter of a call: what one release takes is good.
func checkParam(calls []*schema.Endpoint, key, value string) error {
	// A config has a line for each option; only of keys there are several, which are encoded there.
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && (r != '\n' || key != "sshkeys") || r == 0x7f }) {
		return errors.New("has line breaks or other control characters")
	}
	known, first := false, ""
	for _, call := range calls {
		p := call.Param(key)
		if p == nil {
			continue
		}
		known = true
		if key == "sshkeys" { // plain here, encoded on its way to Proxmox
			return nil
		}
		bad := p.Verify(key, value)
		if len(bad) == 0 {
			return nil
		}
		if first == "" {
			first = explain(key, bad)
		}
	}
	if !known {
		return fmt.Errorf("Proxmox has no such option; %s", suggest.DidYouMean(key, optionNames(calls[0]))) //nolint:staticcheck // a name
	}
	return fmt.Errorf("Proxmox doesn't take %q: %s", suggest.Shortened(value), first) //nolint:staticcheck // a name
}

// explain puts what the schema says into one line.
func explain(key string, bad schema.Errors) string {
	var texts []string
	for _, field := range slices.Sorted(maps.Keys(bad)) {
		text := strings.Join(strings.Fields(bad[field]), " ")
		text = strings.TrimPrefix(text, "invalid format - ")
		text = strings.ReplaceAll(text, "format error "+key+".", "")
		text = notInList.ReplaceAllString(text, "want one of $1")
		text = strings.ReplaceAll(text, "property is missing and it is not optional", "is missing")
		texts = append(texts, notBoolean.ReplaceAllString(text, "want 0 or 1"))
	}
	return strings.Join(texts, "; ")
}

// How Proxmox says these.
var (
	notInList  = regexp.MustCompile(`value '[^']*' does not have a value in the enumeration '([^']*)'`)
	notBoolean = regexp.MustCompile(`type check \('boolean'\) failed - got '[^']*'`)
)

// optionNames are the options that there are.
func optionNames(call *schema.Endpoint) []string {
	var names []string
	for name := range call.Params {
		if _, instead := fieldFor[strings.TrimSuffix(name, "[n]")]; !instead && !slices.Contains(noOption, name) {
			names = append(names, strings.Replace(name, "[n]", "0", 1))
		}
	}
	slices.Sort(names)
	return names
}
