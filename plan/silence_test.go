package plan

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// wish is a field of what is wanted with a change of it; or why a change needs no word.
type wish struct {
	change func(*model.Desired)
	exempt string
}

func ofVM(change func(*model.VM)) wish {
	return wish{change: func(d *model.Desired) { change(&d.VMs[0]) }}
}

func ofImage(change func(*model.Image)) wish {
	return wish{change: func(d *model.Desired) { change(&d.Images[0]) }}
}

func ofSnapshot(change func(*model.Snapshot)) wish {
	return wish{change: func(d *model.Desired) { change(&d.Snapshots[0]) }}
}

// wishes are all fields of what is wanted.
func wishes() map[string]wish {
	option := func(key, value string) wish { return ofVM(func(v *model.VM) { v.Options[key] = value }) }
	return map[string]wish{
		"VM.Owner":      {exempt: "another owner is another guest"},
		"VM.Name":       ofVM(func(v *model.VM) { v.Name = "other" }),
		"VM.VMID":       ofVM(func(v *model.VM) { v.VMID = 777 }),
		"VM.Remembered": {exempt: "it isn't wanted, but known"},
		"VM.Had":        {exempt: "it isn't wanted, but known"},
		"VM.Range":      {exempt: "a guest that is there has its VMID"},
		"VM.Labels":     {exempt: "they say what Place is about"},
		"VM.Source.Image": ofVM(func(v *model.VM) {
			v.Source.Image.Name = "other"
		}),
		"VM.Source.VM":       ofVM(func(v *model.VM) { v.Source = model.Source{VM: Key{Kind: "VirtualMachine", Name: "data"}} }),
		"VM.Source.Snapshot": {exempt: "of a copy, which stands alone"},
		"VM.Source.Blank":    {exempt: "a guest that was made from something isn't empty: the manifest says so by naming no image, which import does"},
		"VM.Source.Full":     ofVM(func(v *model.VM) { v.Source.Full = true }),
		"VM.Source.Storage":  {exempt: "it is that of the root disk"},
		"VM.Source.Copy":     {exempt: "it follows from the kind of object"},
		"VM.Options":         option("cores", "8"),
		"VM.Password": ofVM(func(v *model.VM) {
			v.Options, v.Managed = withOption(v.Options, model.Password, "x"), append(slices.Clone(v.Managed), model.Password)
			v.Password = model.Seal{Mark: "s.aaaabbbb"}
		}),
		"VM.Secret":          {exempt: "Password is made from it"},
		"VM.Managed":         {exempt: "it follows from Options"},
		"VM.Disks.Slot":      ofVM(func(v *model.VM) { v.Disks[2].Slot = "scsi9" }),
		"VM.Disks.Name":      ofVM(func(v *model.VM) { v.Disks[1].Options = map[string]string{"serial": "other"} }),
		"VM.Disks.Volume":    ofVM(func(v *model.VM) { v.Disks[3].Volume = "nfs:iso/second.iso" }),
		"VM.Disks.Storage":   ofVM(func(v *model.VM) { v.Disks[1].Storage = "local-lvm" }),
		"VM.Disks.Size":      ofVM(func(v *model.VM) { v.Disks[1].Size *= 2 }),
		"VM.Disks.Format":    ofVM(func(v *model.VM) { v.Disks[1].Format = "raw" }),
		"VM.Disks.CDROM":     {exempt: "it follows from the image"},
		"VM.Disks.CloudInit": {exempt: "it isn't wanted, but observed"},
		"VM.Disks.Options":   ofVM(func(v *model.VM) { v.Disks[0].Options = map[string]string{"ssd": "1"} }),
		"VM.NICs.Slot":       ofVM(func(v *model.VM) { v.NICs[0].Slot = "net3" }),
		"VM.NICs.Name":       {exempt: "Proxmox knows no names of interfaces"},
		"VM.NICs.Model":      ofVM(func(v *model.VM) { v.NICs[0].Model = "e1000" }),
		"VM.NICs.MAC":        ofVM(func(v *model.VM) { v.NICs[0].MAC = "02:00:00:AA:BB:FF" }),
		"VM.NICs.Bridge":     ofVM(func(v *model.VM) { v.NICs[0].Bridge = "vmbr1" }),
		"VM.NICs.VLAN":       ofVM(func(v *model.VM) { v.NICs[0].VLAN = 5 }),
		"VM.NICs.MTU":        ofVM(func(v *model.VM) { v.NICs[0].MTU = 1400 }),
		"VM.NICs.Firewall":   ofVM(func(v *model.VM) { v.NICs[0].Firewall = true }),
		"VM.NICs.Options":    ofVM(func(v *model.VM) { v.NICs[0].Options = map[string]string{"queues": "2"} }),
		"VM.Tags":            ofVM(func(v *model.VM) { v.Tags = []string{"blue"} }),
		"VM.Description":     ofVM(func(v *model.VM) { v.Description = "other" }),
		"VM.Pool":            ofVM(func(v *model.VM) { v.Pool = "team" }),
		"VM.HA":              ofVM(func(v *model.VM) { v.HA = &model.HA{} }),
		"VM.Firewall":        ofVM(func(v *model.VM) { v.Firewall = walls("in ACCEPT SSH", "in DROP") }),
		"VM.Seed":            ofVM(func(v *model.VM) { v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaabbbbcccc"} }),
		"VM.Leases": ofVM(func(v *model.VM) {
			v.Leases = []model.Lease{{Slot: "net0", Pool: lanPool()}}
			v.Managed = append(slices.Clone(v.Managed), "ipconfig0")
		}),
		"VM.Inherited": {exempt: "of a copy, which stands alone"},
		"VM.Group":     {exempt: "a guest that becomes one of several has another name, and is another one"},
		"VM.Scripts":   {exempt: "they are in Options, too"},
		"VM.Shares":    {exempt: "they are in Options, too"},
		"VM.RootFor":   {exempt: "it says what Options are for"},
		"VM.Own": ofVM(func(v *model.VM) {
			v.Own = map[string]model.Text{"cpuunits": {{Own: model.OwnVMID}}}
			v.Managed = append(slices.Clone(v.Managed), "cpuunits")
		}),
		"VM.Hook":        ofVM(func(v *model.VM) { v.Hook = model.Text{{Fixed: "```proxplane\nvirtiofs: x\n```"}} }),
		"VM.Power":       ofVM(func(v *model.VM) { v.Power = model.PowerOff }),
		"VM.Entered":     {exempt: "it says which privileges its caller needs, and changes nothing of it"},
		"VM.WaitAddress": {exempt: "it says what ready means"},
		"VM.Place.Nodes": ofVM(func(v *model.VM) { v.Place.Nodes = []string{"pve3"} }),
		"VM.Place.AntiAffinity": ofVM(func(v *model.VM) {
			v.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "Exists"}}
		}),
		"VM.Place.MaxPerNode": ofVM(func(v *model.VM) { v.Place.MaxPerNode = 1 }),
		"VM.Place.MinFree":    ofVM(func(v *model.VM) { v.Place.MinFree = 1 << 50 }),
		"VM.Place.Where": ofVM(func(v *model.VM) {
			v.Place.Where = []model.Selector{{Key: "rack", Operator: "Exists"}}
		}),
		"VM.Place.Facts": ofVM(func(v *model.VM) {
			v.Place.Facts = map[string]model.NodeFacts{model.AllNodes: {Maintenance: true}}
		}),
		"VM.Place.Strategy":  {exempt: "it says where new guests go"},
		"VM.Place.SpreadBy":  {exempt: "it says where new guests go"},
		"VM.Place.Policy":    {exempt: "it says which guests are spread together"},
		"VM.Update":          {exempt: "it says what may be done"},
		"VM.Rollout":         {exempt: "it says what may be done at once"},
		"VM.Hold":            {exempt: "it says that nothing may be done"},
		"VM.Retain":          {exempt: "it says what is done when the object goes"},
		"VM.LeftOver":        {exempt: "it says why the object goes"},
		"VM.Surplus":         {exempt: "the operator says that there are more guests than the count"},
		"VM.Released":        {exempt: "it says what is done when the object goes"},
		"VM.Destroy":         {exempt: "it says what is done when the object goes"},
		"VM.ShutdownTimeout": {exempt: "it says how a guest is stopped"},
		"VM.Grace":           {exempt: "it says how a guest is stopped"},
		"VM.Deleted":         ofVM(func(v *model.VM) { v.Deleted = true }),

		"Image.Owner":    {exempt: "another owner is another image"},
		"Image.Template": ofImage(func(i *model.Image) { i.Template = "debian-12-template" }),
		"Image.VMID":     ofImage(func(i *model.Image) { i.Template, i.VMID = "", 9001 }),
		"Image.URL": ofImage(func(i *model.Image) {
			i.Template, i.URL, i.Range = "", "https://example.com/x.qcow2", model.Range{First: 7000, Last: 7999}
		}),
		"Image.ISO":               {exempt: "guests have it in Disks"},
		"Image.Checksum":          {change: func(d *model.Desired) { d.Images[2].Checksum = "bb" }},
		"Image.ChecksumAlgorithm": {exempt: "it says what Checksum is"},
		"Image.Storage":           {change: func(d *model.Desired) { d.Images[2].Storage = "local-lvm" }},
		"Image.Options":           {change: func(d *model.Desired) { d.Images[2].Options = map[string]string{"bios": "ovmf"} }},
		"Image.Tags":              {exempt: "they are for people: a template that is there keeps those that it was made with"},
		"Image.Description":       {exempt: "as of Tags"},
		"Image.Range":             {exempt: "a template that is there has its VMID"},
		"Image.Deleted":           {change: func(d *model.Desired) { d.Images[2].Deleted = true }},
		"Image.Pin":               ofImage(func(i *model.Image) { i.Pin = model.Pin{Nodes: []string{"pve2"}} }),
		"Image.Hold":              {exempt: "it says that nothing may be done"},
		"Image.OnlyTemplate":      {exempt: "it says which VMs guests may be made from"},
		"Image.Implied":           {exempt: "it follows from who names the template"},
		"Image.Ahead":             {exempt: "templates that are there stay, and on a shared storage one is enough"},
		"Image.Asked":             {exempt: "as of Ahead"},
		"Image.NoCopies":          {exempt: "copies that machines are linked clones of stay; on a shared storage there are none"},
		"Image.Origin":            {exempt: "plans find it"},
		"Image.On":                {exempt: "it is another template of the image"},
		"Image.Used":              {exempt: "it follows from who names the image"},
		"Image.Lent":              {exempt: "what another namespace has is looked after there"},

		"Snapshot.Owner":       {exempt: "another owner is another snapshot"},
		"Snapshot.VM":          ofSnapshot(func(s *model.Snapshot) { s.VM.Name = "data" }),
		"Snapshot.VMID":        ofSnapshot(func(s *model.Snapshot) { s.VMID = 5114 }), // that of data
		"Snapshot.Name":        ofSnapshot(func(s *model.Snapshot) { s.Name = "later" }),
		"Snapshot.Description": ofSnapshot(func(s *model.Snapshot) { s.Description = "other" }),
		"Snapshot.Memory":      ofSnapshot(func(s *model.Snapshot) { s.Memory = true }),
		"Snapshot.Revert":      ofSnapshot(func(s *model.Snapshot) { s.Revert = "1" }),
		"Snapshot.Keep":        {exempt: "it says how many there may be; fewer are deleted, see prune"},
		"Snapshot.Deleted":     ofSnapshot(func(s *model.Snapshot) { s.Deleted = true }),
		"Snapshot.Hold":        {exempt: "it says that nothing may be done"},
		"Snapshot.LeftOver":    {exempt: "it isn't wanted, but found"},
	}
}

// inside are the types whose fields are looked at one by one.
var inside = []reflect.Type{reflect.TypeFor[model.Source](), reflect.TypeFor[model.Place](), reflect.TypeFor[model.Disk](), reflect.TypeFor[model.NIC]()}

func fieldsOf(t reflect.Type, path string) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, typ := path+"."+f.Name, f.Type
		if typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if slices.Contains(inside, typ) {
			names = append(names, fieldsOf(typ, name)...)
			continue
		}
		names = append(names, name)
	}
	return names
}

// A change of what is wanted gives a step, a refusal, a wait or a note: never silence.
func TestNoChangeIsSilent(t *testing.T) {
	all := wishes()
	for _, name := range slices.Concat(fieldsOf(reflect.TypeFor[model.VM](), "VM"), fieldsOf(reflect.TypeFor[model.Image](), "Image"), fieldsOf(reflect.TypeFor[model.Snapshot](), "Snapshot")) {
		if _, known := all[name]; !known {
			t.Errorf("nobody has said what a change of %s comes to", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		change := all[name].change
		if change == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := wishWorld()
			want := everyWish()
			converge(quiet{t}, w, want)
			if p := w.planAll(want); !p.Ready() || words(p) != 0 {
				t.Fatalf("it isn't up to date before:\n%s", p)
			}
			want = everyWish()
			change(&want)
			if p := w.planAll(want); words(p) == 0 {
				t.Errorf("nothing is said:\n%s", p)
			}
		})
	}
}

// wishWorld has what everyWish and the changes of it need.
func wishWorld() *world {
	w := newWorld()
	w.template(9001, "debian-12-template", "pve1", "nfs")
	w.template(9002, "ubuntu-22-template", "pve2", "nfs")
	for _, iso := range []string{"first", "second"} {
		w.Files["nfs:iso/"+iso+".iso"] = model.File{Volume: "nfs:iso/" + iso + ".iso", Node: "pve1", Content: "iso"}
	}
	return w
}

// words counts all that a plan has to say. That the marker changes says nothing.
func words(p Plan) (n int) {
	for _, o := range p.Objects {
		n += len(o.Refused) + len(o.Notes)
		for _, s := range o.Steps {
			if !slices.ContainsFunc(s.Diff, func(d model.Difference) bool { return d.Field == model.FieldMarker }) {
				n++
			}
		}
		if o.Wait != nil || o.Gone {
			n++
		}
		if !o.Look.Empty() {
			n++
		}
	}
	return n
}

// everyWish is a guest with something of everything, another one that must not be with it
// when the policies say so, a fetched image and a snapshot.
func everyWish() model.Desired {
	v, other := testVM("web"), testVM("data")
	v.Labels, other.Labels = map[string]string{"app": "x"}, map[string]string{"app": "x"}
	v.Place.Nodes, other.Place.Nodes = []string{"pve1"}, []string{"pve1"}
	v.Options = maps.Clone(v.Options)
	v.Disks = append(slices.Clone(v.Disks),
		model.Disk{Slot: "scsi1", Name: "data", Storage: "nfs", Size: 1 << 30, Options: map[string]string{"serial": "data"}},
		model.Disk{Slot: "scsi5", Name: "slotted", Storage: "nfs", Size: 1 << 30},
		model.Disk{Slot: "ide0", Name: "iso", Volume: "nfs:iso/first.iso", CDROM: true})
	other.NICs = slices.Clone(other.NICs)
	other.NICs[0].MAC = "02:00:00:AA:BB:DD"
	want := desired(v, other)
	want.Images = append(want.Images, model.Image{
		Owner: owner("VMImage", "fetched"), URL: "https://example.com/y.qcow2", Checksum: "aa", ChecksumAlgorithm: "md5", Storage: "nfs",
		Options: map[string]string{"bios": "seabios"}, Range: model.Range{First: 6000, Last: 6999},
	})
	want.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "before"), VM: v.Owner.Key, Name: "before", Description: "as it was"}}
	return want
}

// dropped are further things that a manifest may name and later not name any more.
func dropped() map[string]wish {
	all := map[string]wish{
		"root option": ofVM(func(v *model.VM) { v.Disks[0].Options = map[string]string{"ssd": "1"} }),
		"rate":        ofVM(func(v *model.VM) { v.NICs[0].Options = map[string]string{"rate": "10"} }),
		"password":    ofVM(func(v *model.VM) { v.Options["cipassword"] = "secret"; v.Managed = append(v.Managed, "cipassword") }),
		"onboot":      ofVM(func(v *model.VM) { v.Options["onboot"] = "1"; v.Managed = append(v.Managed, "onboot") }),
		"second NIC": ofVM(func(v *model.VM) {
			v.NICs = append(slices.Clone(v.NICs), model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr1"})
		}),
		"another disk": ofVM(func(v *model.VM) { v.Disks = append(v.Disks, model.Disk{Slot: "scsi7", Storage: "nfs", Size: 1 << 30}) }),
	}
	for _, key := range []string{"agent", "bios", "cpu", "machine", "ostype", "scsihw", "vga"} {
		all["option "+key] = ofVM(func(v *model.VM) { v.Options[key] = "something" })
	}
	for _, key := range []string{"ssd", "cache", "discard", "iothread", "backup"} {
		all["disk option "+key] = ofVM(func(v *model.VM) {
			v.Disks[1].Options = map[string]string{"serial": "data", key: "1"}
		})
	}
	return all
}

// undone says why it needs no word that some changes are taken back.
var undone = map[string]string{
	"Image.Pin":             "without a selector any template of the name is meant",
	"VM.Disks.Format":       "a disk whose format isn't named may have any",
	"Snapshot.Revert":       "a rollback that was done isn't taken back",
	"VM.Deleted":            "a guest that is gone is made anew",
	"VM.Place.AntiAffinity": "fewer rules move nobody",
	"VM.Place.MaxPerNode":   "fewer rules move nobody",
	"VM.Place.MinFree":      "fewer rules move nobody",
	"VM.Place.Where":        "fewer rules move nobody",
	"VM.Place.Facts":        "a node that is open again takes nobody by itself",
	"VM.Source.Full":        "a full copy is no less than a linked one",
}

// What a manifest no longer names is put back, or it is said that it stays.
func TestNoRemovalIsSilent(t *testing.T) {
	all := dropped()
	for name, w := range wishes() {
		if w.change != nil && undone[name] == "" {
			all[name] = w
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			w := wishWorld()
			want := everyWish()
			all[name].change(&want)
			converge(quiet{t}, w, want)
			if p := w.planAll(want); !p.Ready() {
				t.Fatalf("it isn't up to date before:\n%s", p)
			}
			if p := w.planAll(everyWish()); words(p) == 0 {
				t.Errorf("nothing is said:\n%s", p)
			}
		})
	}
}
