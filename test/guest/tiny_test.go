package guest

import (
	"context"
	"fmt"
	"testing"
)

func TestGuestsBecomeWhatTheManifestSays(t *testing.T) {
	t.Parallel()
	l := newLab(t, tinyWorld(t))
	l.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks:
  - {name: lan, bridge: vmbr0, staticIP: {address: 192.168.77.10/24, gateway: 192.168.77.1}}
  - {name: back, bridge: vmbr1, staticIP: {address: "fd00:77::10/64"}}
  - {name: other, bridge: vmbr2, dhcp: true}
  userData:
    cloudInit:
      inline: |
        #cloud-config
        hostname: shop
        write_files:
        - {path: /etc/motd, content: "it's ${here} %s\n", permissions: "0640"}
        - {path: /etc/bytes, content: AAH/, encoding: b64}
        runcmd:
        - echo "$(cat /etc/motd) again" > /run/one
        - [sh, -c, "echo two > /run/two"]
  agent: {waitForAddress: true}
`)
	vm := l.vm("web")
	l.shows(vm, "ls /run/tiny.done", "/run/tiny.done")
	l.has(vm, "hostname", "shop")
	l.has(vm, "cat /etc/motd", "it's ${here} %s")
	l.has(vm, "stat -c %a /etc/motd", "640")
	l.has(vm, "wc -c < /etc/bytes", "3")
	l.has(vm, "cat /run/one", "it's ${here} %s again")
	l.has(vm, "cat /run/two", "two")
	l.has(vm, "ip -o addr show eth0 | grep -c 'inet 192.168.77.10/24'", "1")
	l.has(vm, "ip route | grep default", "default via 192.168.77.1 dev eth0")
	l.has(vm, "ip -o addr show eth1 | grep -c 'inet6 fd00:77::10/64'", "1")
	l.has(vm, "ip -o addr show eth2 | grep -c 'inet 192.168.77.5'", "1")
	l.tells("web", "192.168.77.10")
}

func TestWhatGrowsIsSeenInside(t *testing.T) {
	t.Parallel()
	l := newLab(t, tinyWorld(t))
	machine := func(class, disks string) string {
		return fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: one}
spec: {cpus: 1, maxCPUs: 2, memory: 1Gi, hotplugMemory: true}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: two}
spec: {cpus: 2, maxCPUs: 2, memory: 2Gi, hotplugMemory: true}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: grows}
spec:
  classRef: {name: %s}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  disks: [%s]
  agent: {waitForAddress: true}
`, class, disks)
	}
	l.apply(machine("one", "{name: root, size: 1Gi}"))
	vm := l.vm("grows")
	l.has(vm, "cat /sys/block/sda/size", "2097152")
	l.has(vm, "cat /sys/devices/system/cpu/online", "0")
	before := l.memory(vm)
	l.sh(vm, "echo still here > /run/state")

	l.apply(machine("two", "{name: root, size: 2Gi}, {name: data, size: 3Gi}"))
	l.shows(vm, "cat /sys/block/sda/size", "4194304")
	l.shows(vm, "cat /sys/block/sdb/size", "6291456")
	l.shows(vm, "cat /sys/devices/system/cpu/online", "0-1")
	l.eventually("memory", func(context.Context) error {
		if now := l.memory(vm); now < before+1000<<10 {
			return fmt.Errorf("%d KiB, and %d before", now, before)
		}
		return nil
	})
	l.has(vm, "cat /run/state", "still here")
}

func TestSnapshotsWithMemoryBringBackWhatRan(t *testing.T) {
	t.Parallel()
	l := newLab(t, tinyWorld(t))
	const machine = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: db}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  agent: {waitForAddress: true}
---
`
	l.apply(machine)
	vm := l.vm("db")
	l.sh(vm, "echo first > /run/memory; echo first | dd of=/dev/sda conv=fsync 2>/dev/null")
	l.apply(machine + `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: good}
spec: {vmRef: {name: db}, includeMemory: true}
`)
	l.sh(vm, "echo second > /run/memory; echo second | dd of=/dev/sda conv=fsync 2>/dev/null")
	l.apply(machine+`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: good}
spec: {vmRef: {name: db}, includeMemory: true, revert: "1"}
`, "--allow-data-loss")
	l.shows(vm, "cat /run/memory", "first")
	l.has(vm, "head -n 1 /dev/sda", "first")
}

func TestAgentsMayComeLateOrNever(t *testing.T) {
	t.Parallel()
	l := newLab(t, tinyWorld(t))
	machine := func(name, image, agent string) string {
		return fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: %[2]s}
spec: {source: %[2]s}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: %[1]s}
spec:
  classRef: {name: small}
  imageRef: {name: %[2]s}
  networks: [{name: lan, bridge: vmbr0}]
  userData: {cloudInit: {inline: "#!/bin/sh\nsleep 5\n"}}
  agent: %[3]s
---
`, name, image, agent)
	}
	l.apply(machine("late", "tiny-late", "{waitForAddress: true}"))
	late := l.vm("late")
	l.has(late, "ls /run/tiny.done", "/run/tiny.done")

	l.apply(machine("never", "tiny-off", "{waitForAddress: false}"))
	l.waitForConsole("never", "done")
	if err := l.vm("never").Agent().Ping(t.Context()); err == nil {
		t.Error("a guest without an agent has one that answers")
	}
	// It hears the power button all the same.
	l.power("shutdown", "never")
}
