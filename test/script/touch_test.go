package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/access"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// simFault JSON makes something go wrong; without an argument, nothing any more.
func simFault(ts *testscript.TestScript, neg bool, args []string) {
	s := at(ts)
	if len(args) == 0 {
		s.RemoveFault(0)
		return
	}
	var f pvesim.Fault
	ts.Check(json.Unmarshal([]byte(args[0]), &f))
	_, err := s.AddFault(f)
	ts.Check(err)
}

// simAdvance DURATION lets that time pass in the simulator, at once.
func simAdvance(ts *testscript.TestScript, neg bool, args []string) {
	d, err := time.ParseDuration(strings.Join(args, " "))
	ts.Check(err)
	at(ts).Advance(d)
}

// lists is how many lists of the cluster were asked for.
func (s *site) lists() int {
	n := 0
	for _, r := range s.Requests(0) {
		if strings.Contains(r.URL, "/cluster/resources") {
			n++
		}
	}
	return n
}

// simLock VM [LOCK] locks a VM, as a backup does; without a lock it is unlocked.
func simLock(ts *testscript.TestScript, neg bool, args []string) {
	at(ts).locked = at(ts).lists()
	at(ts).Do(func(st *pvesim.State) {
		vm := sim.VM(st, args[0])
		if vm == nil {
			ts.Fatalf("there is no VM %s", args[0])
		}
		delete(vm.Conf, "lock")
		if len(args) > 1 {
			vm.Conf["lock"] = args[1]
		}
	})
}

// simFill STORAGE BYTES leaves no more than that free on a storage.
func simFill(ts *testscript.TestScript, neg bool, args []string) {
	var left int64
	if _, err := fmt.Sscan(args[1], &left); err != nil {
		ts.Fatalf("usage: sim-fill STORAGE BYTES")
	}
	at(ts).Do(func(st *pvesim.State) {
		for key, space := range st.Spaces {
			if key.Storage == args[0] {
				space.Base = space.Total - space.Used - left
			}
		}
	})
	at(ts).Settle()
}

// byHand does something to a VM as somebody would in Proxmox' own interface:
//
//	by-hand set VM KEY=VALUE…     by-hand stop VM         by-hand destroy VM
//	by-hand tag VM TAG            by-hand unset VM KEY…
//	by-hand migrate VM NODE       by-hand snapshot VM NAME
//	by-hand create VMID NODE KEY=VALUE…
//	by-hand lose-config VM        by-hand lose-disk VM SLOT
//	by-hand grant|revoke ROLE PRIVILEGE                by-hand pool NAME
//	by-hand revoke-all ROLE PREFIX
//	by-hand acl PATH ROLE         by-hand maintenance NODE on|off
//	by-hand call VM METHOD PATH KEY=VALUE…             by-hand cluster METHOD PATH KEY=VALUE…
func byHand(ts *testscript.TestScript, neg bool, args []string) {
	s := at(ts)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if len(args) < 2 {
		ts.Fatalf("usage: by-hand WHAT VM …")
	}
	rest := args[2:]
	switch args[0] {
	case "create":
		params := pairs(rest[1:])
		params["vmid"] = args[1]
		ts.Check(s.Call(ctx, "POST", "/nodes/"+rest[0]+"/qemu", params))
		s.Settle()
		return
	case "pool":
		ts.Check(s.Call(ctx, "POST", "/pools", pve.Params{"poolid": args[1]}))
		return
	case "cluster":
		ts.Check(s.Call(ctx, args[1], "/cluster"+rest[0], pairs(rest[1:])))
		return
	case "into-pool":
		ts.Check(s.Call(ctx, "PUT", "/pools/"+rest[0], pve.Params{"vms": args[1]}))
		s.Settle()
		return
	case "maintenance": // of a node, as "ha-manager crm-command node-maintenance" does it
		ts.Check(s.Sim.Maintenance(args[1], rest[0] == "on"))
		s.Settle()
		return
	case "acl": // on a path, in the place of what was there
		s.Do(func(st *pvesim.State) {
			st.Access.ACL = slices.DeleteFunc(st.Access.ACL, func(e access.Entry) bool { return e.Path == args[1] })
		})
		ts.Check(s.Call(ctx, "PUT", "/access/acl", pve.Params{"path": args[1], "roles": rest[0], "users": sim.User}))
		return
	case "revoke":
		s.Do(func(st *pvesim.State) { delete(st.Access.Roles[args[1]], rest[0]) })
		return
	case "revoke-all":
		s.Do(func(st *pvesim.State) {
			maps.DeleteFunc(st.Access.Roles[args[1]], func(priv string, _ bool) bool { return strings.HasPrefix(priv, rest[0]) })
		})
		return
	case "lose-config":
		s.Do(func(st *pvesim.State) {
			vm := sim.VM(st, args[1])
			if vm == nil {
				ts.Fatalf("there is no VM %s", args[1])
			}
			st.LoseConfig(vm.ID)
		})
		s.Settle()
		return
	case "lose-disk":
		s.Do(func(st *pvesim.State) {
			vm := sim.VM(st, args[1])
			if vm == nil || !st.LoseDisk(vm, rest[0]) {
				ts.Fatalf("VM %s has no disk %s", args[1], rest[0])
			}
		})
		s.Settle()
		return
	case "grant":
		s.Do(func(st *pvesim.State) { st.Access.Roles[args[1]][rest[0]] = true })
		return
	}
	touch := func(method, path string, params pve.Params) { ts.Check(s.Touch(ctx, args[1], method, path, params)) }
	switch args[0] {
	case "set":
		touch("PUT", "/config", pairs(rest))
	case "unset":
		touch("PUT", "/config", pve.Params{"delete": strings.Join(rest, ","), "force": "1"})
	case "tag":
		tags := ""
		s.Do(func(st *pvesim.State) {
			if v := sim.VM(st, args[1]); v != nil {
				tags = v.Conf["tags"]
			}
		})
		touch("PUT", "/config", pve.Params{"tags": tags + ";" + rest[0]})
	case "call":
		touch(rest[0], rest[1], pairs(rest[2:]))
	case "stop":
		touch("POST", "/status/stop", nil)
	case "destroy":
		touch("POST", "/status/stop", nil)
		touch("DELETE", "", nil)
	case "migrate":
		touch("POST", "/migrate", pve.Params{"target": rest[0], "online": "1"})
	case "clone":
		touch("POST", "/clone", pve.Params{"newid": rest[0], "name": rest[1], "full": "1"})
	case "snapshot":
		touch("POST", "/snapshot", pve.Params{"snapname": rest[0]})
	default:
		ts.Fatalf("by-hand can't %s", args[0])
	}
	s.Settle()
}

var volumesInMarker = regexp.MustCompile(`,"disks":\{[^}]*\}`)

// forgetVolumes VM takes the volumes out of the marker of a VM, as in one that an older
// version wrote.
func forgetVolumes(ts *testscript.TestScript, neg bool, args []string) {
	at(ts).Do(func(st *pvesim.State) {
		vm := sim.VM(st, args[0])
		short := volumesInMarker.ReplaceAllString(vm.Conf["description"], "")
		if short == vm.Conf["description"] {
			ts.Fatalf("the marker of %s names no volumes: %s", args[0], short)
		}
		vm.Conf["description"] = short
	})
}

func pairs(args []string) pve.Params {
	params := pve.Params{}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch was := params[key].(type) {
		case nil:
			params[key] = value
		case string:
			params[key] = []string{was, value}
		case []string:
			params[key] = append(was, value)
		}
	}
	return params
}
