# The second apply: what the machines become.
memory          = 4096
cores           = 4
description     = "second"
tags            = ["changed", "clients"]
disk_size       = 48
scratch_started = true
extra_disk      = true
vlan            = 17
linked_node     = "pve2"
moved_node      = "pve1"
base_datastore  = "nfs"
