package guest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// copyFolder copies what is in a folder into another one. Disks are mostly holes.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", "--sparse=always", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// guests are the machines in a state.
func (l *lab) guests(in func(*pvesim.VM) bool) (list []pve.VM) {
	l.sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if in(vm) {
				list = append(list, l.client.VM(vm.Node, id))
			}
		}
	})
	return list
}

// hibernate has Proxmox write the memory of the machines that run to disk, and turn them off.
func (l *lab) hibernate() {
	l.t.Helper()
	began := time.Now()
	for _, vm := range l.guests(func(vm *pvesim.VM) bool { return vm.Run != nil }) {
		l.task(vm.Suspend(l.t.Context(), pve.SuspendOptions{ToDisk: true}))
	}
	l.t.Logf("the machines were hibernated in %s", time.Since(began).Round(time.Second))
}

// wake has machines that were hibernated go on, all with the time of today.
func (l *lab) wake() {
	l.t.Helper()
	began := time.Now()
	all := l.guests(func(vm *pvesim.VM) bool { return vm.Conf["lock"] == "suspended" })
	for _, vm := range all {
		l.task(vm.Start(l.t.Context(), pve.StartOptions{}))
	}
	for _, vm := range all {
		l.eventually("the clock", func(ctx context.Context) error {
			got, err := l.exec(ctx, vm, fmt.Sprintf("date -s @%d", time.Now().Unix()))
			if err == nil && got.ExitCode != 0 {
				err = errors.New(got.Err)
			}
			return err
		})
	}
	l.t.Logf("%d machines went on after %s", len(all), time.Since(began).Round(time.Second))
}

func TestAGuestGoesOnInACopyOfItsLab(t *testing.T) {
	w := tinyWorld(t)
	dir, boot := labFolder(t), ""
	const asked = "cat /proc/sys/kernel/random/boot_id /run/kept"
	t.Run("the lab ends", func(t *testing.T) {
		l := openLab(t, w, dir)
		l.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: kept}
spec: {classRef: {name: small}, imageRef: {name: tiny}, networks: [{name: lan, bridge: vmbr0}], agent: {waitForAddress: true}}
`)
		boot = l.sh(l.vm("kept"), "echo by-memory >/run/kept; "+asked)
		l.hibernate()
	})
	if t.Failed() {
		return
	}
	again := labFolder(t)
	copyFolder(t, dir, again)
	l := openLab(t, w, again)
	l.wake()
	if now := l.sh(l.vm("kept"), asked); now != boot || !strings.HasSuffix(now, "by-memory") {
		t.Errorf("it has %q, and had %q", now, boot)
	}
}
