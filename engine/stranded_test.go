package engine_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// Proxmox leaves the volumes of a guest that it destroys without getting the lock of their
// storage, and so does who removes its config. It makes no second one for a cloud-init drive.
func TestACloudInitDriveThatWasLeftIsUsedAgain(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.vm("ubuntu", func(_ *pvesim.State, template *pvesim.VM) {
			maps.DeleteFunc(template.Conf, func(_, value string) bool { return strings.Contains(value, "cloudinit") })
		})
		web := machine("web")
		web.Seed, web.Options["ipconfig0"] = nil, "ip=dhcp"
		l.mustConverge(desired(web))
		id, drive := l.id("web"), ""
		l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) {
			for _, value := range vm.Conf {
				if volume, _, _ := strings.Cut(value, ","); strings.Contains(volume, "-cloudinit") {
					drive = volume
				}
			}
		})
		if drive == "" {
			t.Fatal("there is no cloud-init drive")
		}
		l.sim.Do(func(s *pvesim.State) { delete(s.VMs, id) })
		l.mustConverge(desired(web))
		l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) {
			for slot, value := range vm.Conf {
				if strings.HasPrefix(value, drive+",") && vm.ID == id {
					t.Logf("VM %d has it as %s", id, slot)
					return
				}
			}
			t.Errorf("VM %d has no %s: %v", vm.ID, drive, vm.Conf)
		})
	})
}
