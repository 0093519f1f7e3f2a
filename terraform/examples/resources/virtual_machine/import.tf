import {
  to = proxplane_virtual_machine.web
  id = "104" # a VMID, a name in Proxmox, or the owner: a set and a name, such as shop/web
}
