// Package providerspec reads providerSpec.value of Machines whose cloudProvider is proxmox:
// strictly, with a sentence and the path of the field for everything that is wrong.
//
// The fields of the original come first in each struct, under their names; what it lacked
// follows. Values that may be secret are a [Var]: a literal, or a key of a Secret or ConfigMap.
package providerspec
