package script_test

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// The neighbour has VM 500 and nothing else: PVEVMAdmin on /vms/500. What he does there is
// his right. What it does to others is what the stories are about.
const (
	neighbourToken  = "neighbour@pve!laptop"
	neighbourSecret = "badc0de0-0000-4000-8000-000000000000"
)

// neighbour WHAT …: start has a Proxmox with the neighbour in it, where proxplane's login
// is PVEAdmin; set, template, snapshot and forge are what he does to VM 500; unchanged
// tells whether VM 500 is as he left it.
func neighbour(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: neighbour WHAT …")
	}
	if args[0] == "start" {
		neighbourStart(ts, args[1:])
		return
	}
	s := at(ts)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := pve.New(pve.Config{Endpoints: []string{s.Endpoint}, TLS: pve.TLS{CA: sim.CA()}, Credentials: pve.Token(neighbourToken, neighbourSecret)})
	ts.Check(err)
	vm := client.VM("pve1", 500)
	var task pve.UPID
	switch args[0] {
	case "set":
		settings := pve.Settings{}
		for _, a := range args[1:] {
			key, value, _ := strings.Cut(a, "=")
			settings[key] = value
		}
		ts.Check(vm.SetConfig(ctx, pve.ConfigChange{Set: settings}))
	case "notes":
		ts.Check(vm.SetConfig(ctx, pve.ConfigChange{Set: pve.Settings{"description": unescaped(args[1])}}))
	case "template":
		task, err = vm.Template(ctx, "")
	case "snapshot":
		task, err = vm.Snapshot(ctx, pve.SnapshotOptions{Name: args[1], Description: unescaped(args[2])})
	case "forge":
		o := model.Owner{Door: "vm", Set: "default", Key: model.Key{Kind: args[1], Name: args[2]}}
		if len(args) > 3 {
			o.UID = model.Image{URL: args[3]}.Version()
		}
		ts.Check(vm.SetConfig(ctx, pve.ConfigChange{Set: pve.Settings{
			"name": args[2], "tags": model.Tag + ";" + model.StateTag(o, "unfinished"), "description": model.Describe("", model.Marker{Owner: o, VMID: 500}),
		}}))
	case "unchanged":
		if now := s.fivehundred(); now["running"] != "" || !maps.Equal(now, s.left) {
			ts.Fatalf("VM 500 was\n%v\nand is\n%v", s.left, now)
		}
		return
	default:
		ts.Fatalf("the neighbour can't %s", args[0])
	}
	ts.Check(err)
	if !task.IsZero() {
		_, err = client.Task(task).Wait(ctx)
		ts.Check(err)
	}
	s.Settle()
	s.left = s.fivehundred()
}

// fivehundred is the config of VM 500.
func (s *site) fivehundred() map[string]string {
	var conf map[string]string
	s.Do(func(st *pvesim.State) {
		if vm := st.VMs[500]; vm != nil {
			conf = maps.Clone(vm.Conf)
			if vm.Run != nil {
				conf["running"] = "1"
			}
		}
	})
	return conf
}

func neighbourStart(ts *testscript.TestScript, args []string) {
	w := pvesim.DefaultWorld()
	users := append(w.Users, pvesim.WorldUser{ID: "neighbour@pve", Tokens: []pvesim.WorldToken{{Name: "laptop", Secret: neighbourSecret}}})
	guests := append(w.Guests, pvesim.WorldGuest{ID: 500, Node: "pve1", Config: map[string]string{
		"name": "mine", "cores": "1", "memory": "512", "scsi0": "local-lvm:8", "boot": "order=scsi0", "net0": "virtio,bridge=vmbr0",
	}})
	text, err := yaml.Marshal(map[string]any{
		"users": users, "guests": guests,
		"acl": []pvesim.WorldACL{{Path: "/", Role: "PVEAdmin", User: sim.User}, {Path: "/vms/500", Role: "PVEVMAdmin", User: "neighbour@pve"}},
	})
	ts.Check(err)
	simStart(ts, false, append([]string{string(text)}, args...))
}

// unescaped lets stories write bytes that their files can't hold.
func unescaped(text string) string {
	return strings.NewReplacer(`\e`, "\x1b", `\a`, "\a", `\9`, "\u009b", `\r`, "\r").Replace(text)
}
