package model

// Paths of calls.
const (
	VMPath      = "/nodes/{node}/qemu/{vmid}"
	StoragePath = "/nodes/{node}/storage/{storage}"
	dirPath     = "/cluster/mapping/dir"
	haPath      = "/cluster/ha/"

	firewallPath = VMPath + "/firewall"

	powers    = "start and stop guests"
	rollsBack = "go back to snapshots"
	underHA   = "put guests under HA"
	keepApart = "keep guests under HA apart"

	runsPrograms = "run programs in guests"

	setsFirewall = "set the firewall of guests"
)

// ConfigCall changes a guest's config. The privileges that it needs depend on the
// options.
var ConfigCall = Call{Method: "PUT", Path: VMPath + "/config", Why: "configure guests"}

// facts is the table. A test has it that every action has its row.
var facts = map[string]Facts{
	// Guests.
	"Clone": {
		Proof: ProofNew, Makes: true, Adds: true, Changes: AspectGuest, Tells: true, Listed: true, Busy: BusyNamed, Copies: true, Leaves: true, Awaited: true,
		Calls: []Call{{Method: "POST", Path: VMPath + "/clone", Why: "clone"}},
	},
	"Create": {
		Proof: ProofNew, Makes: true, Adds: true, Changes: AspectGuest, Tells: true, Listed: true, Busy: BusyNamed, Copies: true, Leaves: true, Awaited: true,
		Calls: []Call{{Method: "POST", Path: "/nodes/{node}/qemu", Why: "create guests"}},
	},
	"Destroy": {
		Proof: ProofRead, Loses: LosesGuest, Destroys: true, Changes: AspectGuest, Listed: true, Checked: true, Busy: BusyGuest, Leaves: true,
		Calls: []Call{{Method: "GET", Path: VMPath + "/config", Why: "read configs"}, {Method: "DELETE", Path: VMPath, Why: "destroy guests"}},
	},
	"Migrate": {
		Moves: true, AsSeen: true, Changes: AspectConfig | AspectPower | AspectAgent, Copies: true, Awaited: true, Leaves: true,
		Calls: []Call{{Method: "POST", Path: VMPath + "/migrate", Why: "move guests to other nodes"}},
	},
	"MakeTemplate": {
		Changes: AspectConfig, Busy: BusyGuest, Awaited: true,
		Calls: []Call{{Method: "POST", Path: VMPath + "/template", Why: "make templates"}},
	},

	// Their configs. The slow change is a POST, which takes the same privileges.
	"Configure": {
		ByHand: true, Proof: ProofDigest, Loses: LosesDisks, Changes: AspectConfig, Busy: BusyNamed,
		Calls: []Call{ConfigCall, {Method: "POST", Path: VMPath + "/config", Why: "configure guests"}},
	},
	"Release": {Proof: ProofDigest, Changes: AspectConfig, Calls: []Call{ConfigCall}},
	"Detach":  {Proof: ProofDigest, Changes: AspectConfig, Calls: []Call{ConfigCall}},
	"Resize": {
		Changes: AspectConfig, Busy: BusyResize,
		Calls: []Call{{Method: "PUT", Path: VMPath + "/resize", Why: "grow disks"}},
	},
	"MoveDisk": {
		Changes: AspectConfig, Busy: BusyNamed, Copies: true, Leaves: true,
		Calls: []Call{{Method: "POST", Path: VMPath + "/move_disk", Why: "move disks to other storages"}},
	},

	// Their power.
	"Start": {
		ByHand: true, Power: StatusRunning, Boots: true, AsSeen: true, Changes: AspectPower, Awaited: true,
		Calls: []Call{{Method: "POST", Path: VMPath + "/status/start", Why: powers}},
	},
	"Reboot": {
		ByHand: true, Power: StatusRunning, Boots: true, AsSeen: true, Changes: AspectPower,
		Calls: []Call{{Method: "POST", Path: VMPath + "/status/reboot", Why: powers}},
	},
	"Resume": {
		ByHand: true, Power: StatusRunning, AsSeen: true, Changes: AspectPower,
		Calls: []Call{{Method: "POST", Path: VMPath + "/status/resume", Why: powers}},
	},
	"Shutdown": {
		ByHand: true, Loses: LosesGuest, Power: StatusStopped, AsSeen: true, Changes: AspectPower,
		Calls: []Call{{Method: "POST", Path: VMPath + "/status/shutdown", Why: powers}},
	},
	"Stop": {
		ByHand: true, Loses: LosesGuest, Power: StatusStopped, AsSeen: true, Changes: AspectPower,
		Calls: []Call{
			{Method: "DELETE", Path: "/nodes/{node}/tasks/{upid}", Optional: true},
			{Method: "POST", Path: VMPath + "/status/stop", Why: powers},
		},
	},

	// Their snapshots.
	"Snap": {
		ByHand: true, Adds: true, Changes: AspectConfig, Busy: BusyGuest, Awaited: true,
		Calls: []Call{{Method: "POST", Path: VMPath + "/snapshot", Why: "take snapshots"}},
	},
	"Unsnap": {
		ByHand: true, Loses: LosesSnapshot, Changes: AspectConfig, Busy: BusyGuest,
		Calls: []Call{{Method: "DELETE", Path: VMPath + "/snapshot/{snapname}", Why: "delete snapshots"}},
	},
	"Rollback": {
		ByHand: true, Loses: LosesState, Changes: AspectConfig | AspectPower | AspectAgent, Busy: BusyGuest,
		Calls: []Call{
			ConfigCall,
			{Method: "PUT", Path: VMPath + "/snapshot/{snapname}/config", Why: rollsBack},
			{Method: "POST", Path: VMPath + "/snapshot/{snapname}/rollback", Why: rollsBack},
		},
	},

	// What is inside of them.
	"Exec": {
		ByHand: true, Inside: true, Proof: ProofRead,
		Calls: []Call{
			{Method: "POST", Path: VMPath + "/agent/exec", Why: runsPrograms},
			{Method: "GET", Path: VMPath + "/agent/exec-status", Why: runsPrograms},
		},
	},
	"ReadFile": {
		ByHand: true, Inside: true, Proof: ProofRead,
		Calls: []Call{{Method: "GET", Path: VMPath + "/agent/file-read", Why: "read files in guests"}},
	},

	// What the cluster knows of them.
	"SetHA": {
		Changes: AspectHA, Tells: true, Listed: true, Awaited: true,
		Calls: []Call{
			{Method: "DELETE", Path: haPath + "resources/{sid}", Why: underHA},
			{Method: "POST", Path: haPath + "resources", Why: underHA},
			{Method: "PUT", Path: haPath + "resources/{sid}", Why: underHA},
			{Method: "GET", Path: haPath + "rules", Why: underHA},
			{Method: "PUT", Path: haPath + "rules/{rule}", Why: underHA},
		},
	},
	"KeepApart": {
		Changes: AspectHA,
		Calls:   []Call{{Method: "POST", Path: haPath + "rules", Why: keepApart}, {Method: "PUT", Path: haPath + "rules/{rule}", Why: keepApart}},
	},
	"SetFirewall": {
		Changes: AspectFirewall, Tells: true,
		Calls: []Call{
			{Method: "PUT", Path: firewallPath + "/options", Why: setsFirewall},
			{Method: "POST", Path: firewallPath + "/rules", Why: setsFirewall},
			{Method: "PUT", Path: firewallPath + "/rules/{pos}", Why: setsFirewall},
			{Method: "DELETE", Path: firewallPath + "/rules/{pos}", Why: setsFirewall},
		},
	},
	"SetPool": {
		Changes: AspectPool, Tells: true, Listed: true,
		Calls: []Call{{Method: "PUT", Path: "/pools"}},
	},

	// Files and mappings.
	"Download": {
		Proof: ProofName, Adds: true, Changes: AspectFiles, Tells: true, Busy: BusyNamed, Copies: true,
		Calls: []Call{{Method: "POST", Path: StoragePath + "/download-url", Why: "fetch images"}},
	},
	"Unpack": {
		Proof: ProofName, Adds: true, Changes: AspectFiles, Tells: true, Busy: BusyNamed, Copies: true,
		Calls: []Call{{Method: "POST", Path: StoragePath + "/upload", Why: "upload images that had to be unpacked"}},
	},
	"UploadSeed": {
		Proof: ProofName, Adds: true, Changes: AspectFiles, Tells: true, Busy: BusyNamed,
		Calls: []Call{{Method: "POST", Path: StoragePath + "/upload", Why: "upload first-boot data"}},
	},
	"UploadSnippets": { // the copy itself goes by SSH
		Proof: ProofName, Changes: AspectFiles, Tells: true,
		Calls: []Call{
			{Method: "GET", Path: "/storage/{storage}", Why: "know where snippets are"},
			{Method: "GET", Path: "/cluster/status", Why: "know the addresses of nodes", Seldom: true},
		},
	},
	"RemoveFile": {
		Proof: ProofName, Changes: AspectFiles, Checked: true, Busy: BusyNamed,
		Calls: []Call{{Method: "DELETE", Path: StoragePath + "/content/{volume}"}},
	},
	"RemoveDisk": {
		Proof: ProofRead, Loses: LosesGuest, Changes: AspectLeft, Tells: true, Proved: true, Busy: BusyNamed,
		Calls: []Call{{Method: "DELETE", Path: StoragePath + "/content/{volume}", Why: "remove disks that Proxmox has left"}},
	},
	"MakeShare": {
		Proof: ProofName, Adds: true, Changes: AspectDirs, Awaited: true,
		Calls: []Call{{Method: "POST", Path: dirPath, Why: "make directory mappings"}, {Method: "PUT", Path: dirPath + "/{id}"}},
	},
	"RemoveShare": {
		Proof: ProofName, Changes: AspectDirs,
		Calls: []Call{{Method: "GET", Path: dirPath + "/{id}"}, {Method: "DELETE", Path: dirPath + "/{id}", Why: "remove directory mappings"}},
	},
}
