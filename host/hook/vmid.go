package hook

import (
	"fmt"
	"strconv"
)

// ParseVMID reads a VMID as Proxmox writes it.
func ParseVMID(text string) (int, error) {
	vmid, err := strconv.Atoi(text)
	if err != nil || vmid < 100 || vmid > 999_999_999 || strconv.Itoa(vmid) != text {
		return 0, fmt.Errorf("%q isn't a VMID", text)
	}
	return vmid, nil
}
