package terraform

// newClone is the resource proxplane_clone: a VMClone, with its class and placement.
func newClone() *machine {
	fields := append(fieldsOf("VMClone", "name"), namedFields()...)
	fields = append(
		fields,
		field{name: "source", key: "source", required: true, about: "What is copied: the VMID of a machine, such as proxplane_virtual_machine.web.machines[0].vmid, or the name or VMID of a template. Once the copy is made, it stands alone."},
		field{name: "class", key: "class", shape: object, fields: fieldsOf("VMClass"), about: "The size of the copy, and its virtual hardware. Default: that of the source."},
	)
	r := &machine{of: "VMClone", about: "A machine that is a copy of another one, or of a snapshot of it.", fields: fields}
	r.base = base{kind: r, suffix: "_clone"}
	return r
}
