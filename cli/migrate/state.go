package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// found is what was read of other providers: their machines, and the addresses of what else they have made.
type found struct {
	machines []theirs
	others   []string
}

// state is a state of Terraform: what "show -json" prints, or a state file of version 4.
type state struct {
	Version       int    `json:"version"`
	FormatVersion string `json:"format_version"`
	Encrypted     string `json:"encrypted_data"`
	Plan          any    `json:"planned_values"`
	Resources     []struct {
		Module, Mode, Type, Name string
		Instances                []struct {
			Index      any            `json:"index_key"`
			Attributes map[string]any `json:"attributes"`
		}
	} `json:"resources"`
	Values *struct {
		Root shownModule `json:"root_module"`
	} `json:"values"`
}

// shownModule is a module as it is shown.
type shownModule struct {
	Address   string
	Resources []struct {
		Mode, Type, Name string
		Index            any `json:"index"`
		Values           map[string]any
	}
	Children []shownModule `json:"child_modules"`
}

// readState reads the machines of a state.
func readState(data []byte) (f found, err error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return f, fmt.Errorf("it is no JSON: %w", err)
	}
	switch {
	case s.Encrypted != "":
		return f, errors.New("the state is encrypted: give what \"tofu show -json\" prints")
	case s.Plan != nil:
		return f, errors.New("it is a plan: give what \"terraform show -json\" prints without the name of one")
	case s.FormatVersion != "":
		if s.Values != nil {
			f.module("", s.Values.Root)
		}
	case s.Version == 4:
		for _, r := range s.Resources {
			for _, i := range r.Instances {
				f.add(r.Mode, r.Module, r.Type, r.Name, i.Index, i.Attributes)
			}
		}
	case s.Version != 0:
		return f, fmt.Errorf("it is a state of version %d: give what \"terraform show -json\" prints", s.Version)
	default:
		return f, errors.New("it is neither a state file nor what \"terraform show -json\" prints")
	}
	return f, nil
}

func (f *found) module(address string, m shownModule) {
	for _, r := range m.Resources {
		f.add(r.Mode, address, r.Type, r.Name, r.Index, r.Values)
	}
	for _, c := range m.Children {
		f.module(c.Address, c)
	}
}

// add takes an instance of a resource, if it is of these providers.
func (f *found) add(mode, module, kind, name string, index any, said map[string]any) {
	if mode != "managed" || !strings.HasPrefix(kind, "proxmox_") {
		return
	}
	if number, ok := index.(float64); ok {
		index = int(number)
	}
	m := theirs{module: module, kind: kind, name: name, index: index, said: said}
	if kinds[kind] == nil {
		f.others = append(f.others, m.address())
		return
	}
	if m.judge(); m.vmid == 0 && m.trouble == "" {
		m.trouble = "the state has no VMID of it: it wasn't made, or only half"
	}
	f.machines = append(f.machines, m)
}
