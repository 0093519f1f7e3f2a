package model

import "slices"

// classOptions are the options that every class names.
var classOptions = []string{"cores", "memory", "sockets", "vcpus"}

// keptOptions are further options that stay as they are when the manifest no longer names
// them, as when a machine changes to a class that says less. Without them the guest could
// be one that it can't boot on, and what its template had isn't known any more.
var keptOptions = []string{"agent", "bios", "cpu", "machine", "ostype", "scsihw", "vga"}

// Kept reports whether an option stays as it is when the manifest no longer names it.
func Kept(key string) bool {
	return slices.Contains(keptOptions, key) || slices.Contains(classOptions, key)
}

// KeptMarks returns the marks among Managed for options that a manifest names and that stay
// when it no longer does. The plan then has a note.
func KeptMarks(options map[string]string) (marks []string) {
	for _, key := range keptOptions {
		if options[key] != "" {
			marks = append(marks, KeptMark(key))
		}
	}
	return marks
}

// KeptMark returns the mark for one of these options.
func KeptMark(key string) string { return "kept:" + key }
