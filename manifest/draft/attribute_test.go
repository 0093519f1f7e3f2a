package draft

import "testing"

func TestNamesAreSpelledAsTerraformDoes(t *testing.T) {
	for name, want := range map[string]string{
		"vmid": "vmid", "onBoot": "on_boot", "maxVMsPerNode": "max_vms_per_node", "maxCPUs": "max_cpus", "staticIP": "static_ip",
		"primaryGPU": "primary_gpu", "fwCfgName": "fw_cfg_name", "dhcp6": "dhcp6", "isoStorage": "iso_storage", "vmidRange": "vmid_range",
		"pciMappings": "pci_mappings", "minFreeMemory": "min_free_memory", "CPUType": "cpu_type",
	} {
		if got := Attribute(name); got != want {
			t.Errorf("%s is spelled %s, want %s", name, got, want)
		}
	}
}
