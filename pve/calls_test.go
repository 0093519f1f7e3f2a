package pve

import (
	"context"
	"strings"
	"time"
)

// release is the Proxmox that a call is made for: 8 or 9.
type release int

// apiCall makes one call with everything that can be given.
type apiCall struct {
	name  string // Type.Method
	from  release
	until release // 0: to this day
	make  func(ctx context.Context, c *Client, r release) error
}

// one drops the result of a call.
func one[T any](_ T, err error) error { return err }

// both drops the results of a call.
func both[T, U any](_ T, _ U, err error) error { return err }

var exampleUPID = mustUPID("UPID:pve1:00000891:000A659C:6AF91910:qmclone:100:ci@pve!t:")

func mustUPID(text string) UPID {
	upid, err := ParseUPID(text)
	if err != nil {
		panic(err)
	}
	return upid
}

// apiCalls are all calls that this package can make. A test finds those that are missing.
var apiCalls = []apiCall{
	{name: "Client.Version", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Version(ctx)) }},
	{name: "Client.Probe", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Probe(ctx, Password("root@pam", "probe-password")))
	}},
	{name: "Client.Call", make: func(ctx context.Context, c *Client, _ release) error {
		return c.Call(ctx, "PUT", "/access/password", Params{"userid": "a@pve", "password": "called-password"}, nil)
	}},
	{name: "Client.StorageConfig", make: func(ctx context.Context, c *Client, _ release) error { return one(c.StorageConfig(ctx, "local")) }},
	{name: "Client.Pools", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Pools(ctx)) }},

	{name: "Access.Permissions", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Access().Permissions(ctx, "root@pam", "/vms"))
	}},
	{name: "Access.User", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Access().User(ctx, "a@pve")) }},
	{name: "Access.CreateUser", make: func(ctx context.Context, c *Client, r release) error {
		return c.Access().CreateUser(ctx, filled[NewUser](r))
	}},
	{name: "Access.Token", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Access().Token(ctx, "a@pve", "ci"))
	}},
	{name: "Access.CreateToken", make: func(ctx context.Context, c *Client, r release) error {
		return one(c.Access().CreateToken(ctx, "a@pve", "ci", filled[NewToken](r)))
	}},
	{name: "Access.Roles", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Access().Roles(ctx)) }},
	{name: "Access.CreateRole", make: func(ctx context.Context, c *Client, _ release) error {
		return c.Access().CreateRole(ctx, "Mine", []string{"VM.Audit", "VM.Clone"})
	}},
	{name: "Access.SetRole", make: func(ctx context.Context, c *Client, r release) error {
		return c.Access().SetRole(ctx, "Mine", filled[RoleChange](r))
	}},
	{name: "Access.ACL", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Access().ACL(ctx)) }},
	{name: "Access.SetACL", make: func(ctx context.Context, c *Client, r release) error {
		return c.Access().SetACL(ctx, filled[ACLChange](r))
	}},

	{name: "Cluster.Status", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Cluster().Status(ctx)) }},
	{name: "Cluster.Resources", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Cluster().Resources(ctx, "vm"))
	}},
	{name: "Cluster.CheckID", make: func(ctx context.Context, c *Client, _ release) error { return c.Cluster().CheckID(ctx, 100) }},
	{name: "Cluster.Tasks", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Cluster().Tasks(ctx)) }},
	{name: "Cluster.Log", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Cluster().Log(ctx, 50)) }},

	{name: "HA.Resources", make: func(ctx context.Context, c *Client, _ release) error { return one(c.HA().Resources(ctx)) }},
	{name: "HA.AddResource", make: func(ctx context.Context, c *Client, r release) error {
		return c.HA().AddResource(ctx, "vm:100", filled[HASettings](r))
	}},
	{name: "HA.SetResource", make: func(ctx context.Context, c *Client, r release) error {
		return c.HA().SetResource(ctx, "vm:100", filled[HAChange](r))
	}},
	{name: "HA.RemoveResource", make: func(ctx context.Context, c *Client, r release) error {
		return c.HA().RemoveResource(ctx, "vm:100", filled[HARemove](r))
	}},
	{name: "HA.Rules", from: 9, make: func(ctx context.Context, c *Client, _ release) error { return one(c.HA().Rules(ctx)) }},
	{name: "HA.CreateRule", from: 9, make: func(ctx context.Context, c *Client, r release) error {
		return perRuleType(r, func(rule HARule) error { return c.HA().CreateRule(ctx, rule) })
	}},
	{name: "HA.SetRule", from: 9, make: func(ctx context.Context, c *Client, r release) error {
		return perRuleType(r, func(rule HARule) error {
			change := filled[HARuleChange](r)
			change.HARule = rule
			return c.HA().SetRule(ctx, "r1", change)
		})
	}},
	{name: "HA.Groups", until: 8, make: func(ctx context.Context, c *Client, _ release) error { return one(c.HA().Groups(ctx)) }},
	{name: "HA.CreateGroup", until: 8, make: func(ctx context.Context, c *Client, r release) error {
		group := filled[HAGroup](r)
		group.ID = "g1"
		return c.HA().CreateGroup(ctx, group)
	}},

	{name: "Mapping.Dirs", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Mapping().Dirs(ctx, "pve1")) }},
	{name: "Mapping.Dir", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Mapping().Dir(ctx, "share")) }},
	{name: "Mapping.CreateDir", make: func(ctx context.Context, c *Client, r release) error {
		return c.Mapping().CreateDir(ctx, filled[NewDirMapping](r))
	}},
	{name: "Mapping.SetDir", make: func(ctx context.Context, c *Client, r release) error {
		return c.Mapping().SetDir(ctx, "share", filled[DirMappingChange](r))
	}},
	{name: "Mapping.DeleteDir", make: func(ctx context.Context, c *Client, _ release) error { return c.Mapping().DeleteDir(ctx, "share") }},

	{name: "Firewall.Options", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Firewall().Options(ctx)) }},
	{name: "Firewall.Macros", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Firewall().Macros(ctx)) }},
	{name: "Firewall.Refs", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Firewall().Refs(ctx)) }},
	{name: "VM.FirewallOptions", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.VM("pve1", 100).FirewallOptions(ctx))
	}},
	{name: "VM.SetFirewallOptions", make: func(ctx context.Context, c *Client, _ release) error {
		return c.VM("pve1", 100).SetFirewallOptions(ctx, FirewallChange{Set: Settings{"enable": "1"}, Delete: []string{"policy_in"}, Digest: samples["digest"]})
	}},
	{name: "VM.FirewallRules", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.VM("pve1", 100).FirewallRules(ctx))
	}},
	{name: "VM.AddFirewallRule", make: func(ctx context.Context, c *Client, _ release) error {
		return c.VM("pve1", 100).AddFirewallRule(ctx, Settings{"type": "in", "action": "ACCEPT", "macro": "SSH", "enable": "1"})
	}},
	{name: "VM.SetFirewallRule", make: func(ctx context.Context, c *Client, _ release) error {
		return c.VM("pve1", 100).SetFirewallRule(ctx, 0, FirewallChange{Set: Settings{"enable": "1"}, Delete: []string{"comment"}, Digest: samples["digest"]})
	}},
	{name: "VM.MoveFirewallRule", make: func(ctx context.Context, c *Client, _ release) error {
		return c.VM("pve1", 100).MoveFirewallRule(ctx, 0, 2, samples["digest"])
	}},
	{name: "VM.DeleteFirewallRule", make: func(ctx context.Context, c *Client, _ release) error {
		return c.VM("pve1", 100).DeleteFirewallRule(ctx, 0, samples["digest"])
	}},
	{name: "Firewall.Groups", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Firewall().Groups(ctx)) }},

	{name: "Pool.Change", make: func(ctx context.Context, c *Client, r release) error {
		return c.Pool("team/a").Change(ctx, filled[PoolChange](r))
	}},

	{name: "Node.Status", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Node("pve1").Status(ctx)) }},
	{name: "Node.Certificates", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Node("pve1").Certificates(ctx))
	}},
	{name: "Node.Network", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Node("pve1").Network(ctx, "any_bridge"))
	}},
	{name: "Node.Storages", make: func(ctx context.Context, c *Client, r release) error {
		return one(c.Node("pve1").Storages(ctx, filled[StorageFilter](r)))
	}},
	{name: "Node.URLMetadata", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Node("pve1").URLMetadata(ctx, "https://images.test/a.iso", new(false)))
	}},
	{name: "Node.Tasks", make: func(ctx context.Context, c *Client, r release) error {
		return both(c.Node("pve1").Tasks(ctx, filled[TaskFilter](r)))
	}},
	{name: "Node.VMs", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Node("pve1").VMs(ctx, true)) }},
	{name: "Node.Create", make: func(ctx context.Context, c *Client, r release) error {
		return one(c.Node("pve1").Create(ctx, filled[CreateOptions](r)))
	}},

	{name: "Storage.Content", make: func(ctx context.Context, c *Client, r release) error {
		return one(local(c).Content(ctx, filled[ContentFilter](r)))
	}},
	{name: "Storage.Volume", make: func(ctx context.Context, c *Client, _ release) error {
		return one(local(c).Volume(ctx, "local:iso/a+b.iso"))
	}},
	{name: "Storage.Alloc", make: func(ctx context.Context, c *Client, r release) error {
		return one(local(c).Alloc(ctx, filled[AllocOptions](r)))
	}},
	{name: "Storage.DeleteVolume", make: func(ctx context.Context, c *Client, _ release) error {
		return one(local(c).DeleteVolume(ctx, "local:iso/a+b.iso"))
	}},
	{name: "Storage.Download", make: func(ctx context.Context, c *Client, r release) error {
		return one(local(c).Download(ctx, filled[DownloadOptions](r)))
	}},
	{name: "Storage.Upload", make: func(ctx context.Context, c *Client, _ release) error {
		return one(local(c).Upload(ctx, Upload{
			Content: "iso", Filename: "seed.iso", Body: strings.NewReader("iso-of-user-data"), Algorithm: "sha256", Checksum: "00",
		}))
	}},

	{name: "Task.Status", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Task(exampleUPID).Status(ctx)) }},
	{name: "Task.Stop", make: func(ctx context.Context, c *Client, _ release) error { return c.Task(exampleUPID).Stop(ctx) }},
	{name: "Task.Log", make: func(ctx context.Context, c *Client, r release) error {
		return both(c.Task(exampleUPID).Log(ctx, filled[LogOptions](r)))
	}},
	{name: "Task.FullLog", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Task(exampleUPID).FullLog(ctx)) }},
	{name: "Task.LogTail", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Task(exampleUPID).LogTail(ctx, 10))
	}},
	{name: "Task.Wait", make: func(ctx context.Context, c *Client, _ release) error { return one(c.Task(exampleUPID).Wait(ctx)) }},
	{name: "Client.Watch", make: func(ctx context.Context, c *Client, _ release) error {
		return (<-c.Watch(ctx, WatchOptions{Quick: time.Millisecond}).Follow(exampleUPID)).Err
	}},

	{name: "Container.Config", make: func(ctx context.Context, c *Client, _ release) error {
		return one(c.Container("pve1", 300).Config(ctx))
	}},
	{name: "VM.Status", make: func(ctx context.Context, c *Client, _ release) error { return one(vm(c).Status(ctx)) }},
	{name: "VM.Config", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Config(ctx, filled[ConfigOptions](r)))
	}},
	{name: "VM.Pending", make: func(ctx context.Context, c *Client, _ release) error { return one(vm(c).Pending(ctx)) }},
	{name: "VM.SetConfig", make: func(ctx context.Context, c *Client, r release) error {
		return vm(c).SetConfig(ctx, filled[ConfigChange](r))
	}},
	{name: "VM.StartConfig", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).StartConfig(ctx, filled[SlowConfigChange](r)))
	}},
	{name: "VM.Destroy", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Destroy(ctx, filled[DestroyOptions](r)))
	}},
	{name: "VM.Start", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Start(ctx, filled[StartOptions](r)))
	}},
	{name: "VM.Stop", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Stop(ctx, filled[StopOptions](r)))
	}},
	{name: "VM.Shutdown", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Shutdown(ctx, filled[ShutdownOptions](r)))
	}},
	{name: "VM.Reboot", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Reboot(ctx, filled[RebootOptions](r)))
	}},
	{name: "VM.Suspend", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Suspend(ctx, filled[SuspendOptions](r)))
	}},
	{name: "VM.Resume", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Resume(ctx, filled[ResumeOptions](r)))
	}},
	{name: "VM.Clone", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Clone(ctx, filled[CloneOptions](r)))
	}},
	{name: "VM.Template", make: func(ctx context.Context, c *Client, _ release) error { return one(vm(c).Template(ctx, "scsi0")) }},
	{name: "VM.Resize", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Resize(ctx, filled[ResizeOptions](r)))
	}},
	{name: "VM.MoveDisk", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).MoveDisk(ctx, filled[MoveDiskOptions](r)))
	}},
	{name: "VM.Snapshots", make: func(ctx context.Context, c *Client, _ release) error { return both(vm(c).Snapshots(ctx)) }},
	{name: "VM.SnapshotConfig", make: func(ctx context.Context, c *Client, _ release) error { return one(vm(c).SnapshotConfig(ctx, "s1")) }},
	{name: "VM.Snapshot", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Snapshot(ctx, filled[SnapshotOptions](r)))
	}},
	{name: "VM.DescribeSnapshot", make: func(ctx context.Context, c *Client, _ release) error {
		return vm(c).DescribeSnapshot(ctx, "s1", "before the upgrade")
	}},
	{name: "VM.DeleteSnapshot", make: func(ctx context.Context, c *Client, _ release) error {
		return one(vm(c).DeleteSnapshot(ctx, "s1", true))
	}},
	{name: "VM.Rollback", make: func(ctx context.Context, c *Client, _ release) error { return one(vm(c).Rollback(ctx, "s1", true)) }},
	{name: "VM.Migrate", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Migrate(ctx, filled[MigrateOptions](r)))
	}},
	{name: "VM.Terminal", make: func(ctx context.Context, c *Client, _ release) error { return one(vm(c).Terminal(ctx, "serial0")) }},

	{name: "Agent.Ping", make: func(ctx context.Context, c *Client, _ release) error { return vm(c).Agent().Ping(ctx) }},
	{name: "Agent.Interfaces", make: func(ctx context.Context, c *Client, _ release) error { return one(vm(c).Agent().Interfaces(ctx)) }},
	{name: "Agent.Exec", make: func(ctx context.Context, c *Client, r release) error {
		return one(vm(c).Agent().Exec(ctx, filled[ExecOptions](r)))
	}},
	{name: "Agent.ExecStatus", make: func(ctx context.Context, c *Client, _ release) error {
		return one(vm(c).Agent().ExecStatus(ctx, 155))
	}},
	{name: "Agent.ReadFile", make: func(ctx context.Context, c *Client, _ release) error {
		return one(vm(c).Agent().ReadFile(ctx, "/etc/hostname"))
	}},
}

func local(c *Client) Storage { return c.Storage("pve1", "local") }
func vm(c *Client) VM         { return c.VM("pve1", 100) }

// perRuleType makes a rule of each type: a type has no parameters of another one.
func perRuleType(r release, use func(HARule) error) error {
	rule := filled[HARule](r)
	rule.ID = "r1"
	nodes, resources := rule, rule
	nodes.Type, nodes.Affinity = "node-affinity", ""
	resources.Type, resources.Nodes, resources.Strict = "resource-affinity", "", false
	if err := use(nodes); err != nil {
		return err
	}
	return use(resources)
}
