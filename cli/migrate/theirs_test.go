package migrate

import "testing"

func TestAddressesAreTakenApart(t *testing.T) {
	for address, want := range map[string]string{
		`proxmox_vm_qemu.a`:                       `proxmox_vm_qemu.a`,
		`proxmox_vm_qemu.a[0]`:                    `proxmox_vm_qemu.a`,
		`module.x["a]b.c"].proxmox_vm_qemu.a`:     `module.x.proxmox_vm_qemu.a`,
		`module.x["a\"]b"].module.y[1].kind.name`: `module.x.module.y.kind.name`,
	} {
		if got := withoutIndexes(address); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	for text, want := range map[string]string{"web": "web", "4web": "vm_4web", `shop["a.b"]`: "shop_a_b", "--": "vm_"} {
		if got := labelOf(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestWhereVMIDsAreFound(t *testing.T) {
	for _, c := range []struct {
		value any
		want  int
	}{{float64(104), 104}, {"104", 104}, {"pve1/qemu/104", 104}, {"pve1/qemu/", 0}, {"", 0}, {nil, 0}, {true, 0}, {"-4", 0}, {"pve1/lxc/x", 0}} {
		if got := vmidIn(c.value); got != c.want {
			t.Errorf("%v is %d, want %d", c.value, got, c.want)
		}
	}
}
