package schema

import (
	"encoding/json"
	"fmt"
)

// Permissions say who may make a call. Without User and Check only root@pam may.
type Permissions struct {
	User  string // "all" = every user who is logged in, "world" = anybody, else ""
	Check Check  // nil when the schema has none
}

// Check is a permission expression: [And], [Or], [Perm], [PermModify],
// [UserParam] or [UserGroup].
type Check interface{ check() }

// And holds when all of its parts hold.
type And []Check

// Or holds when one of its parts holds.
type Or []Check

// Perm asks for privileges on a path of the access tree.
type Perm struct {
	Path         string // template: "/vms/{vmid}" takes the call's parameter vmid
	Privs        []string
	Any          bool   // one of Privs is enough
	RequireParam string // the check holds when this parameter isn't given
}

// PermModify asks for what it takes to change the ACL of a path.
type PermModify struct{ Path string }

// UserParam looks at the call's parameter userid: it is the caller ("self"), or
// the caller may allocate users in its realm ("Realm.AllocateUser").
type UserParam struct{ What string }

// UserGroup asks for privileges on a group of the user in the parameter userid.
type UserGroup struct {
	Privs       []string
	GroupsParam string // "create" or "update": the groups in the parameter groups count
}

func (And) check()        {}
func (Or) check()         {}
func (Perm) check()       {}
func (PermModify) check() {}
func (UserParam) check()  {}
func (UserGroup) check()  {}

func (p *Permissions) UnmarshalJSON(data []byte) error {
	var raw struct {
		User  string
		Check []any
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	p.User = raw.User
	if raw.Check == nil {
		return nil
	}
	c, err := parseCheck(raw.Check)
	p.Check = c
	return err
}

// parseCheck reads Proxmox' prefix notation: ["and", […], […]],
// ["perm", path, [privs], option, value …].
func parseCheck(list []any) (Check, error) {
	bad := fmt.Errorf("permission check %v not understood", list)
	if len(list) < 2 {
		return nil, bad
	}
	options := func(from int) (map[string]any, error) {
		opts := map[string]any{}
		for i := from; i+1 < len(list); i += 2 {
			name, ok := list[i].(string)
			if !ok {
				return nil, bad
			}
			opts[name] = list[i+1]
		}
		return opts, nil
	}
	switch list[0] {
	case "and", "or":
		var parts []Check
		for _, p := range list[1:] {
			sub, ok := p.([]any)
			if !ok {
				return nil, bad
			}
			c, err := parseCheck(sub)
			if err != nil {
				return nil, err
			}
			parts = append(parts, c)
		}
		if list[0] == "and" {
			return And(parts), nil
		}
		return Or(parts), nil
	case "perm":
		path, ok := list[1].(string)
		if !ok || len(list) < 3 {
			return nil, bad
		}
		privs, err := texts(list[2])
		if err != nil {
			return nil, bad
		}
		opts, err := options(3)
		if err != nil {
			return nil, err
		}
		c := Perm{Path: path, Privs: privs}
		for name, v := range opts {
			switch name {
			case "any":
				c.Any = truthy(v)
			case "require_param":
				c.RequireParam = fmt.Sprint(v)
			default:
				return nil, bad
			}
		}
		return c, nil
	case "perm-modify":
		return PermModify{Path: fmt.Sprint(list[1])}, nil
	case "userid-param":
		return UserParam{What: fmt.Sprint(list[1])}, nil
	case "userid-group":
		privs, err := texts(list[1])
		if err != nil {
			return nil, bad
		}
		opts, err := options(2)
		if err != nil {
			return nil, err
		}
		c := UserGroup{Privs: privs}
		for name, v := range opts {
			if name != "groups_param" {
				return nil, bad
			}
			c.GroupsParam = fmt.Sprint(v)
		}
		return c, nil
	}
	return nil, bad
}

func texts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("not a list: %v", v)
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return out, nil
}

// truthy is Perl's idea of true for a JSON value.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != "" && v != "0"
	case float64:
		return v != 0
	case json.Number:
		return v != "0"
	}
	return true
}
