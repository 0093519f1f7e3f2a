// Package machines is the door for MachineDeployments, MachineSets and Machines of
// cluster.k8s.io/v1alpha1 whose cloudProvider is proxmox: pools of nodes with rolling updates.
//
// MachineDeployments and MachineSets are controlled by machine-controller's own controllers, which
// run in this process, unless machine-controller runs beside it. A Machine is controlled here: it is
// translated (providerspec), gets user-data by which it joins (userdata), is put into the site of
// its Proxmox cluster, and is matched with its Node. When it is deleted, its Node is drained, then
// the guest and the Node are removed.
//
// What is remembered is in the Machine itself: the VMID in status.providerStatus, before anything is
// made under it. The user-data are in a Secret beside it, since they hold a token that is made once.
package machines
