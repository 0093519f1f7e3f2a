package prop

import (
	"slices"
	"strings"
)

// Canonical gives the one spelling of the value of a key of a VM's config: two
// values that mean the same to Proxmox become the same text, and what means the
// same as leaving the key out becomes "".
//
//   - Property strings have the value that stands alone first, then the others by
//     key; what is a default is left out.
//   - Booleans are 0 and 1, numbers have no needless digits, lists that are sets
//     are sorted, addresses and UUIDs are spelled as usual.
//   - The value of sshkeys is plain text, one key a line: [SSHKeys] encodes it
//     for Proxmox. All else can be sent as it is.
//
// Defaults that depend on more than the key stay: balloon, cpuunits, localtime.
// A value that can't be understood is returned as it is.
func Canonical(key, value string) string {
	family, indexed := familyOf(key)
	if p, ok := properties[family]; ok && p.indexed == indexed {
		if list, err := p.read(value); err == nil {
			return p.print(list)
		}
		return value
	}
	if c, ok := scalars[key]; ok {
		return c(value)
	}
	return value
}

// Properties takes the value of a key apart that is a property string, such as
// net0 or scsi0: what it says besides defaults, in canonical spelling. A value
// that may stand alone is under its full key: "file", "model". It is nil for
// other keys and for what can't be understood.
func Properties(key, value string) map[string]string {
	family, indexed := familyOf(key)
	p, ok := properties[family]
	if !ok || p.indexed != indexed {
		return nil
	}
	list, err := p.read(value)
	if err != nil {
		return nil
	}
	all := make(map[string]string, len(list))
	for _, pair := range list {
		all[pair.Key] = pair.Value
	}
	return all
}

func familyOf(key string) (family string, indexed bool) {
	if key == "smbios1" {
		return key, false
	}
	family = strings.TrimRight(key, "0123456789")
	return family, family != key
}

// A property is a kind of property string. It reads a canonical list, with full
// keys, and prints it.
type property struct {
	indexed bool
	read    func(string) (List, error)
	print   func(List) string
}

// whole is the rest of whatever it is part of.
func (r Rest) whole() Rest { return r }

func canonicalOf[T any, P interface {
	*T
	fields() []field
	whole() Rest
}](f *form, indexed bool, parse func(string) (T, error), settle ...func(P)) property {
	return property{
		indexed: indexed,
		print:   f.short,
		read: func(s string) (List, error) {
			v, err := parse(s)
			if err != nil {
				return nil, err
			}
			p := P(&v)
			for _, change := range settle {
				change(p)
			}
			return f.canonical(p.fields(), p.whole()), nil
		},
	}
}

// canonical lists what the fields say besides defaults, what may stand alone
// first.
func (f *form) canonical(fields []field, rest Rest) List {
	var out List
	for _, fd := range fields {
		if m := fd.meaning(); m != "" && m != fd.def {
			out = append(out, Pair{fd.key, m})
		}
	}
	for _, p := range f.extra(fields, rest) {
		out = append(out, Pair{p.Key, canonicalExtra(p.Key, p.Value)})
	}
	slices.SortFunc(out, func(a, b Pair) int {
		switch f.key {
		case a.Key:
			return -1
		case b.Key:
			return 1
		}
		return strings.Compare(a.Key, b.Key)
	})
	return out
}

// canonicalExtra spells the value of a key without a field.
func canonicalExtra(key, value string) string {
	switch {
	case strings.HasPrefix(key, "mbps"), strings.HasPrefix(key, "iops"), strings.HasPrefix(key, "bps"), key == "aw-bits":
		return spelled(number)(value)
	case key == "enable-s3", key == "enable-s4":
		return spelled(boolean)(value)
	case strings.HasSuffix(key, "-id"): // of a PCI device: 0x10de
		return strings.ToLower(value)
	}
	return value
}

// short prints a list, its first value without key where that can be left out.
func (f *form) short(list List) string {
	if len(list) > 0 && list[0].Key == f.key && f.key != "" {
		list = slices.Clone(list)
		list[0] = f.pair("", list[0].Value)
	}
	return list.String()
}

var (
	drive = canonicalOf(&diskForm, true, ParseDisk)

	// properties are by family; a key such as numa is another than numa0.
	properties = map[string]property{
		"agent":    canonicalOf(&agentForm, false, ParseAgent, settleAgent),
		"cicustom": canonicalOf[CICustom](&ciCustomForm, false, ParseCICustom),
		"cpu":      canonicalOf[CPU](&cpuForm, false, ParseCPU),
		"efidisk":  canonicalOf[EFIDisk](&efiForm, true, ParseEFIDisk),
		"hostpci":  canonicalOf[HostPCI](&hostPCIForm, true, ParseHostPCI),
		"ide":      drive,
		"ipconfig": canonicalOf[IPConfig](&ipconfigForm, true, ParseIPConfig),
		"machine":  canonicalOf[Machine](&machineForm, false, ParseMachine),
		"memory":   canonicalOf[Memory](&memoryForm, false, ParseMemory),
		"net":      canonicalOf[Net](&netForm, true, ParseNet).printedBy(printNet),
		"numa":     canonicalOf[NUMA](&numaForm, true, ParseNUMA),
		"rng":      canonicalOf[RNG](&rngForm, true, ParseRNG),
		"sata":     drive,
		"scsi":     drive,
		"smbios1":  canonicalOf(&smbiosForm, false, ParseSMBIOS1, settleSMBIOS1),
		"startup":  canonicalOf[Startup](&startupForm, false, ParseStartup),
		"tpmstate": canonicalOf[TPMState](&tpmForm, true, ParseTPMState),
		"unused":   drive,
		"usb":      canonicalOf[USB](&usbForm, true, ParseUSB),
		"vga":      canonicalOf[VGA](&vgaForm, false, ParseVGA),
		"virtio":   drive,
		"virtiofs": canonicalOf(&virtioFSForm, true, ParseVirtioFS, settleVirtioFS),
		"watchdog": canonicalOf[Watchdog](&watchdogForm, false, ParseWatchdog).printedBy(printWatchdog),

		"amd-sev": canonicalPairs(form{name: "amd-sev", key: "type", need: []string{"type"}}, false,
			pairKey{"type", "", asIs}, pairKey{"allow-smt", "1", spelled(boolean)}, pairKey{"kernel-hashes", "0", spelled(boolean)},
			pairKey{"no-debug", "0", spelled(boolean)}, pairKey{"no-key-sharing", "0", spelled(boolean)}),
		"audio": canonicalPairs(form{name: "audio", need: []string{"device"}}, true,
			pairKey{"device", "", asIs}, pairKey{"driver", "spice", asIs}),
		"intel-tdx": canonicalPairs(form{name: "intel-tdx", key: "type", need: []string{"type"}}, false,
			pairKey{"type", "", asIs}, pairKey{"attestation", "", spelled(boolean)},
			pairKey{"vsock-cid", "2", spelled(natural)}, pairKey{"vsock-port", "4050", spelled(natural)}),
		"ivshmem": canonicalPairs(form{name: "ivshmem", need: []string{"size"}}, false,
			pairKey{"size", "", spelled(natural)}, pairKey{"name", "", asIs}),
		"spice_enhancements": canonicalPairs(form{name: "spice_enhancements"}, false,
			pairKey{"foldersharing", "0", spelled(boolean)}, pairKey{"videostreaming", "off", asIs}),
	}
)

// settleAgent: the options of an agent that isn't enabled mean nothing.
func settleAgent(a *Agent) {
	if !a.Enabled {
		*a = Agent{}
	}
}

// settleSMBIOS1 writes in base64 only what can't be written otherwise.
func settleSMBIOS1(s *SMBIOS1) {
	s.Base64 = false
	for _, t := range []string{s.Manufacturer, s.Product, s.Version, s.Serial, s.SKU, s.Family} {
		s.Base64 = s.Base64 || t != "" && !smbiosText.MatchString(t)
	}
}

func settleVirtioFS(v *VirtioFS) { v.ExposeXattr = v.ExposeXattr && !v.ExposeACL }

func (p property) printedBy(print func(List) string) property {
	p.print = print
	return p
}

func printNet(list List) string {
	model, _ := list.Get("model")
	mac, _ := list.Get("macaddr")
	if mac == "" || !slices.Contains(netModels, model) {
		return netForm.short(list)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(p Pair) bool { return p.Key == "model" || p.Key == "macaddr" })
	return append(List{{model, mac}}, list...).String()
}

// printWatchdog: a watchdog of the default model is one, unlike none.
func printWatchdog(list List) string {
	if len(list) == 0 {
		return "i6300esb"
	}
	return watchdogForm.short(list)
}

// A pairs is a property string whose keys are declared rather than fields of a
// struct.
type pairs struct {
	keys   []pairKey
	values []string
	Rest
}

type pairKey struct {
	name  string
	def   string
	spell func(string) string
}

func (p *pairs) fields() []field {
	out := make([]field, len(p.keys))
	for i, k := range p.keys {
		out[i] = bind(k.name, &p.values[i], codec[string]{
			parse: func(s string) (string, error) { return k.spell(s), nil },
			print: text.print,
		}).or(k.def)
	}
	return out
}

func canonicalPairs(f form, indexed bool, keys ...pairKey) property {
	return canonicalOf[pairs](&f, indexed, func(s string) (pairs, error) {
		p := pairs{keys: keys, values: make([]string, len(keys))}
		err := f.read(s, p.fields(), &p.Rest)
		return p, err
	})
}
