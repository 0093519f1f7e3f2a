package pvesim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/guestos"
)

// Run is a guest that runs.
type Run struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Paused  time.Time `json:"paused,omitzero"` // since when the CPUs are stopped; zero: they run
	// Asleep guests have suspended themselves to RAM.
	Asleep bool `json:"asleep,omitempty"`
	// Booted is when the system inside is up, Agent when its guest agent
	// answers; zero: never.
	Booted time.Time `json:"booted,omitzero"`
	Agent  time.Time `json:"agent,omitzero"`
	// Off is when the guest, told to shut down, will have done so.
	Off time.Time `json:"off,omitzero"`
	// Reboot asks to start the VM again once it is off.
	Reboot bool           `json:"reboot,omitempty"`
	Mem    int64          `json:"mem"` // bytes given to the guest at its start
	Guest  *guestos.Guest `json:"guest,omitempty"`

	ended chan struct{} // see gone
	early bool          // a real machine has ended
}

// bootOrder lists the devices that the VM boots from, disks and others.
func (c Conf) bootOrder() []string {
	var order []string
	known := false
	for _, part := range strings.Split(strings.TrimSpace(c["boot"]), ",") {
		if list, ok := strings.CutPrefix(part, "order="); ok {
			order, known = strings.FieldsFunc(list, func(r rune) bool { return r == ';' || r == ' ' }), true
		}
	}
	if !known && c["bootdisk"] != "" {
		order = []string{c["bootdisk"]}
	}
	return order
}

// bootDevices are those that the firmware tries: the boot order or, when
// nothing at all was said, all disks.
func (c Conf) bootDevices() []string {
	order := c.bootOrder()
	if _, said := c["boot"]; said || len(order) > 0 {
		return order
	}
	for _, d := range c.drives() {
		order = append(order, d.key)
	}
	return order
}

// system is what the VM will boot: the first system on its boot devices.
// Proxmox tells the firmware to try no other devices.
func (s *Sim) system(vm *VM) System {
	for _, key := range vm.Conf.bootDevices() {
		value, ok := vm.Conf[key]
		if !ok || !isDriveKey[key] {
			continue
		}
		d := parseDrive(key, value)
		vol, _ := s.volume(vm.Node, d.volume)
		if vol == nil {
			continue
		}
		if vol.System != Blank {
			return vol.System
		}
		if d.cdrom() {
			continue
		}
		for _, w := range s.world.Systems {
			if w.VMID == vm.ID {
				return w.System
			}
		}
	}
	return Blank
}

// powerOn lets the VM run from now on. All checks are the caller's.
func (s *Sim) powerOn(vm *VM) {
	now := s.now()
	vm.Run = &Run{PID: int(s.serial("pid/"+vm.Node)) + 1000, Started: now, Mem: memoryOf(vm.Conf)}
	vm.recount()
	s.boot(vm)
}

// boot starts the system inside a VM that runs.
func (s *Sim) boot(vm *VM) {
	r := vm.Run
	now := s.now()
	r.Booted, r.Agent, r.Off, r.Asleep, r.Guest = time.Time{}, time.Time{}, time.Time{}, false, nil
	system := s.system(vm)
	if system == Blank {
		return
	}
	r.Booted = now.Add(s.world.Timing.Boot.D())
	if s.hasAgent(system) && agentEnabled(vm.Conf) {
		r.Agent = now.Add(max(s.world.Timing.Boot.D(), s.world.Timing.Agent.D()))
	}
	r.Guest = s.newGuest(vm)
}

// hasAgent reports whether a system runs the guest agent. Those that a world
// names itself do.
func (s *Sim) hasAgent(system System) bool {
	_, named := s.world.Kernels[system]
	return system == WithAgent || named
}

// skipBoot makes a guest one that was up before anybody looked.
func (r *Run) skipBoot(now time.Time) {
	for _, at := range []*time.Time{&r.Booted, &r.Agent} {
		if at.After(now) {
			*at = now
		}
	}
}

// pause stops the CPUs: what the guest was about to do happens later.
func (r *Run) pause(now time.Time) {
	if r.Paused.IsZero() {
		r.Paused = now
	}
}

// cont lets the CPUs go on.
func (r *Run) cont(now time.Time) {
	if r.Paused.IsZero() {
		return
	}
	slept := now.Sub(r.Paused)
	for _, at := range []*time.Time{&r.Booted, &r.Agent, &r.Off} {
		if at.After(r.Paused) {
			*at = at.Add(slept)
		}
	}
	r.Paused = time.Time{}
}

// up reports whether the system inside has booted and can act.
func (r *Run) up(now time.Time) bool {
	return r != nil && r.Paused.IsZero() && !r.Asleep && !r.Booted.IsZero() && !now.Before(r.Booted)
}

// agentUp reports whether the guest agent answers.
func (r *Run) agentUp(now time.Time) bool {
	return r.up(now) && !r.Agent.IsZero() && !now.Before(r.Agent)
}

// qmpStatus is QEMU's own word for how the guest is.
func (r *Run) qmpStatus() string {
	switch {
	case !r.Paused.IsZero():
		return "paused"
	case r.Asleep:
		return "suspended"
	}
	return "running"
}

// newGuest is the inside of a VM that boots now.
func (s *Sim) newGuest(vm *VM) *guestos.Guest {
	name := vm.Name()
	if name == "" {
		name = fmt.Sprintf("VM%d", vm.ID)
	}
	g := guestos.New(name, strings.ReplaceAll(s.uuid("machine-id", fmt.Sprint(vm.ID)), "-", ""))
	g.Birth = vm.Conf["vmgenid"]
	if sd, ok := s.findSeed(vm); ok {
		var cards []guestos.NIC
		for i, key := range vm.Conf.nets() {
			cards = append(cards, guestos.NIC{Slot: key, MAC: netMAC(vm.Conf[key]), Name: ethName(i)})
		}
		g.Apply(sd, cards)
	}
	return g
}

// maxSeed is how much of a disc is looked at.
const maxSeed = 8 << 20

// findSeed looks for a disc labelled cidata, as people make them, and for
// snippets that replace Proxmox' own.
func (s *Sim) findSeed(vm *VM) (guestos.Seed, bool) {
	for _, d := range vm.Conf.drives() {
		if d.cloudInit() {
			custom, err := (&cloudInit{Sim: s, vm: vm, conf: vm.Conf}).customFiles()
			if err != nil || len(custom) == 0 {
				return guestos.Seed{}, false
			}
			return guestos.Seed{User: custom["user"], Meta: custom["meta"], Network: custom["network"]}, true
		}
		vol, _ := s.volume(vm.Node, d.volume)
		if !d.cdrom() || vol == nil {
			continue
		}
		data, err := s.volumeBytes(vol, maxSeed)
		if err != nil {
			continue
		}
		if img, ok := guestos.OpenISO(data); ok && strings.EqualFold(img.Label, "cidata") {
			files := img.Files()
			return guestos.Seed{User: files["user-data"], Meta: files["meta-data"], Network: files["network-config"]}, true
		}
	}
	return guestos.Seed{}, false
}

// runInGuest starts a program inside with its arguments.
func (s *Sim) runInGuest(vm *VM, args []string, stdin []byte) (*guestos.Exec, error) {
	return vm.Run.Guest.Run(hardware{s, vm}, args, stdin)
}

// hardware is what a program inside can do to its machine.
type hardware struct {
	sim *Sim
	vm  *VM
}

func (h hardware) Now() time.Time { return h.sim.now() }
func (h hardware) PowerOff()      { h.sim.askShutdown(h.vm) }

// Reboot restarts the system inside; QEMU goes on.
func (h hardware) Reboot() {
	vm, r := h.vm, h.vm.Run
	if vm.Conf["reboot"] == "0" { // QEMU ends instead
		h.PowerOff()
		return
	}
	h.sim.later(h.sim.world.Timing.Shutdown.D(), func(a *actor) {
		if vm.Run == r && r.Paused.IsZero() {
			a.boot(vm)
		}
	})
}

// Guests returns the guests that are up, in the order of their VMIDs.
func (h hardware) Guests() []*guestos.Guest {
	var list []*guestos.Guest
	for _, id := range slices.Sorted(maps.Keys(h.sim.state.VMs)) {
		if r := h.sim.state.VMs[id].Run; r.up(h.sim.now()) && r.Guest != nil {
			list = append(list, r.Guest)
		}
	}
	return list
}

// Kubes returns the simulated Kubernetes clusters. They are part of what is kept, since they are on the disks of their nodes.
func (h hardware) Kubes() map[string]*guestos.Kube {
	if h.sim.state.Kubes == nil {
		h.sim.state.Kubes = map[string]*guestos.Kube{}
	}
	return h.sim.state.Kubes
}

// Fetch gets something from where nodes fetch images.
func (h hardware) Fetch(url string) (string, error) {
	res, err := h.sim.client(false).Get(url)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", errors.New(res.Status)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, res.Body); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
