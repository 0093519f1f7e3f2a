package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// theirs is a machine of another provider.
type theirs struct {
	module  string // address of its module; empty: the root
	kind    string // of the resource
	name    string // of the resource
	index   any    // an int, a string, or nil: there is one
	vmid    int
	guest   string         // its name in Proxmox, where the VMID isn't known
	said    map[string]any // attributes
	trouble string         // why it can't be taken over; empty: it can
}

// kinds are the kinds of resources that are machines, with the attributes that may have the VMID.
var kinds = map[string][]string{
	"proxmox_virtual_environment_vm":  {"vm_id", "id"},
	"proxmox_virtual_environment_vm2": {"id"},
	"proxmox_vm_qemu":                 {"vmid", "id"},
}

// address is what Terraform calls the machine.
func (m theirs) address() string { return m.resource() + indexText(m.index) }

// resource is the address without the index of the machine.
func (m theirs) resource() string {
	text := m.kind + "." + m.name
	if m.module != "" {
		text = m.module + "." + text
	}
	return text
}

// label is what the new resource is called.
func (m theirs) label() string {
	if m.module == "" {
		return labelOf(m.name)
	}
	return labelOf(m.module[strings.LastIndex(m.module, "module.")+len("module."):]) + "_" + m.name
}

// judge finds the VMID, and what speaks against taking the machine over.
func (m *theirs) judge() {
	for _, attribute := range kinds[m.kind] {
		if m.vmid = vmidIn(m.said[attribute]); m.vmid != 0 {
			break
		}
	}
	m.guest, _ = m.said["name"].(string)
	if template, _ := m.said["template"].(bool); template {
		m.trouble = fmt.Sprintf("it is a template; leave it to its provider, and name it in machines: image = { source = %q }", m.guest)
	}
}

// vmidIn is the VMID in an attribute: a number, a text, or a text such as pve1/qemu/100.
func vmidIn(value any) int {
	switch v := value.(type) {
	case float64:
		return int(v)
	case string:
		id, err := strconv.Atoi(v[strings.LastIndexByte(v, '/')+1:])
		if err == nil && id > 0 {
			return id
		}
	}
	return 0
}

// indexText is the index of an instance as it is written in addresses.
func indexText(index any) string {
	switch i := index.(type) {
	case int:
		return "[" + strconv.Itoa(i) + "]"
	case string:
		return "[" + quoted(i) + "]"
	}
	return ""
}

// withoutIndexes is an address as removed blocks take it: whole resources of whole modules.
func withoutIndexes(address string) string {
	var b strings.Builder
	var inText, inIndex bool
	for i := 0; i < len(address); i++ {
		switch c := address[i]; {
		case inText && c == '\\':
			i++
		case inIndex && c == '"':
			inText = !inText
		case !inText && c == '[':
			inIndex = true
		case !inText && c == ']':
			inIndex = false
		case !inIndex:
			b.WriteByte(c)
		}
	}
	return b.String()
}

var noLabel = regexp.MustCompile(`[^\pL\pN_-]+`)

// labelOf is a name that a resource can have.
func labelOf(text string) string {
	label := strings.Trim(noLabel.ReplaceAllString(text, "_"), "_-")
	if label == "" || label[0] >= '0' && label[0] <= '9' {
		label = "vm_" + label
	}
	return label
}

// unused is a label that isn't among others, and is from now on.
func unused(label string, others *[]string) string {
	free := label
	for n := 2; slices.Contains(*others, free); n++ {
		free = fmt.Sprintf("%s_%d", label, n)
	}
	*others = append(*others, free)
	return free
}
