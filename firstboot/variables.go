package firstboot

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Variables of each guest that texts can use, beside user-defined ones.
const (
	VarID    = "vm_id"    // the VMID
	VarName  = "vm_name"  // the name in Proxmox
	VarCount = "vm_count" // how many guests are made of the same text
	VarIndex = "vm_index" // which of them this is, from 0

	// VarCountIndex is another name for VarIndex, as Terraform modules have it.
	VarCountIndex = "vm_count_index"

	ownPrefix = "vm_"
)

// Variables of each interface of a guest. Those of the first one have these names, those of others have
// their number behind them, from 1 on ("vm_address_1"). There are no variables for addresses that an
// interface doesn't have.
const (
	VarMAC      = "vm_mac"
	VarAddress  = "vm_address" // with the length of its prefix: 192.168.1.5/24
	VarAddress6 = "vm_address6"
	VarGateway  = "vm_gateway"
	VarGateway6 = "vm_gateway6"
	VarDNS      = "vm_dns" // addresses, with spaces between them
)

// NICVariable returns the name of a variable of an interface.
func NICVariable(name string, nic int) string {
	if nic == 0 {
		return name
	}
	return fmt.Sprintf("%s_%d", name, nic)
}

// networkVariables are those of all interfaces.
func networkVariables(nics []NIC) map[string]string {
	all := map[string]string{}
	for i, n := range nics {
		add := func(name, value string) {
			if value != "" && all[NICVariable(name, i)] == "" {
				all[NICVariable(name, i)] = value
			}
		}
		add(VarMAC, strings.ToLower(n.MAC))
		for _, a := range n.Addresses {
			if strings.Contains(a, ":") {
				add(VarAddress6, a)
			} else {
				add(VarAddress, a)
			}
		}
		add(VarGateway, n.Gateway)
		add(VarGateway6, n.Gateway6)
		add(VarDNS, strings.Join(n.DNS, " "))
	}
	return all
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	variableUse  = regexp.MustCompile(`\$?\$\{\s*([^{}\s]*)\s*\}`)
)

// What is computed from the value of a variable once that is known: see [Base64] and [Host].
const (
	computedBase64 = ownPrefix + "base64:"
	computedHost   = ownPrefix + "host:"
)

// Base64 encodes a text. If it uses variables of a guest, it is encoded once they have their values: the result is a variable then.
func Base64(text string) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	if OwnVariable(text) == "" {
		return encoded
	}
	return "${" + computedBase64 + encoded + "}"
}

// mostHosts bounds the numbers of addresses.
const mostHosts = 1 << 20

// Host returns the n-th address of a prefix such as 192.168.1.5/24, by default that in it. If it is a variable of a guest, so is the result.
func Host(prefix string, n ...int) (string, error) {
	if m := variableUse.FindStringSubmatch(prefix); m != nil && m[0] == prefix && strings.HasPrefix(m[1], ownPrefix) {
		name := computedHost + m[1]
		if len(n) > 0 {
			name += "," + strconv.Itoa(n[0])
		}
		return "${" + name + "}", nil
	}
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		return "", err
	}
	if len(n) == 0 {
		return p.Addr().String(), nil
	}
	a := p.Masked().Addr()
	if n[0] < 0 || n[0] > mostHosts {
		return "", fmt.Errorf("%s: want the number of an address from 0 to %d, have %d", prefix, mostHosts, n[0])
	}
	for range n[0] {
		if a = a.Next(); !p.Contains(a) {
			return "", fmt.Errorf("%s has no address %d", prefix, n[0])
		}
	}
	return a.String(), nil
}

// computed is the value of a variable that is computed from others; known: it is one.
func computed(name string, variables map[string]string) (value string, known bool, err error) {
	if of, is := strings.CutPrefix(name, computedBase64); is {
		text, err := base64.StdEncoding.DecodeString(of)
		if err != nil {
			return "", false, nil //nolint:nilerr // somebody has written it, so it is no variable
		}
		value, err = Expand(string(text), variables)
		return base64.StdEncoding.EncodeToString([]byte(value)), true, err
	}
	of, is := strings.CutPrefix(name, computedHost)
	if !is {
		return "", false, nil
	}
	of, number, numbered := strings.Cut(of, ",")
	var n []int
	if numbered {
		one, err := strconv.Atoi(number)
		if err != nil {
			return "", false, nil //nolint:nilerr // as above
		}
		n = append(n, one)
	}
	prefix, known := variables[of]
	if !known {
		return "", false, nil
	}
	value, err = Host(prefix, n...)
	return value, err == nil, err
}

// CheckVariable reports whether a name is valid for a user-defined variable.
func CheckVariable(name string) error {
	switch {
	case !variableName.MatchString(name):
		return fmt.Errorf("want letters, digits and _, have %q", name)
	case strings.HasPrefix(name, ownPrefix):
		return fmt.Errorf("names that begin with %s are proxplane's own", ownPrefix)
	}
	return nil
}

// MaxExpanded is how many bytes variables may add to a text.
const MaxExpanded = 1 << 20

// Expand replaces ${name} by the value of a variable. Other names stay as they are, since
// shell scripts use the same syntax, unless they are obviously misspelt. $${name} is a
// literal ${name}.
func Expand(text string, variables map[string]string) (string, error) {
	var wrong TextErrors
	var b strings.Builder
	last := 0
	for _, m := range variableUse.FindAllStringSubmatchIndex(text, -1) {
		whole, name := text[m[0]:m[1]], text[m[2]:m[3]]
		b.WriteString(text[last:m[0]])
		last = m[1]
		value, known := variables[name]
		if !known {
			var err error
			if value, known, err = computed(name, variables); err != nil {
				return "", err
			}
		}
		switch {
		case strings.HasPrefix(whole, "$$"):
			b.WriteString(whole[1:])
		case known:
			if b.Len()+len(value) > len(text)+MaxExpanded {
				line, column := position(text, m[0])
				return "", &TextError{line, column, fmt.Sprintf("with its variables replaced it would have more than %d bytes beyond what is written", MaxExpanded)}
			}
			b.WriteString(value)
		case strings.HasPrefix(name, ownPrefix):
			line, column := position(text, m[0])
			wrong = append(wrong, &TextError{line, column, fmt.Sprintf("there is no variable %s; there are %s", name, strings.Join(slices.Sorted(maps.Keys(variables)), ", "))})
		default:
			b.WriteString(whole)
		}
	}
	b.WriteString(text[last:])
	return b.String(), wrong.orNil()
}

// OwnVariable returns the first variable of a guest that a text uses; empty: it uses none.
func OwnVariable(text string) string {
	for _, m := range variableUse.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[1], ownPrefix) && !strings.HasPrefix(m[0], "$$") {
			return m[1]
		}
	}
	return ""
}

// uses reports whether a text has a variable in it.
func uses(text, name string) bool {
	for _, m := range variableUse.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[0], "$$") {
			continue
		}
		if m[1] == name {
			return true
		}
		if of, is := strings.CutPrefix(m[1], computedBase64); is {
			if inner, err := base64.StdEncoding.DecodeString(of); err == nil && uses(string(inner), name) {
				return true
			}
		}
		if of, is := strings.CutPrefix(m[1], computedHost); is && strings.SplitN(of, ",", 2)[0] == name {
			return true
		}
	}
	return false
}

// position is where an offset is, as people count.
func position(text string, offset int) (line, column int) {
	before := text[:offset]
	return strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n')
}
