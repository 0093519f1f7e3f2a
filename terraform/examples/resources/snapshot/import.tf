import {
  to = proxplane_snapshot.before
  id = "104/before-upgrade" # the machine's VMID and the snapshot's name; one that a proxplane_snapshot of this set has taken
}
