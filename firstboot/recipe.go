package firstboot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Recipe is the input of the files of a guest's drive. At most one of UserData, Ignition
// and Butane is set.
//
// A model.Recipe has the same fields: each is converted to the other as it is.
type Recipe struct {
	Hostname   string
	InstanceID string // cloud-init runs again when it changes
	Rerun      bool   // let it change whenever the data do
	MetaData   string // further keys, in YAML; see [MetaData]
	NICs       []NIC

	UserData string   // for cloud-init and what reads the same, as it was given
	Ignition string   // a config in JSON
	Butane   []string // configs, each on top of those before it
	Folder   string   // that Butane's local files are in; empty: see Files
	Files    map[string][]byte

	// Extra are files of the drive by name, such as vendor-data: beside those that are made from the
	// rest, or in place of them.
	Extra map[string]string

	// Variables are replaced in the texts; nil: the texts stay as they are. The VMID isn't
	// among them: it is known only when the guest is.
	Variables map[string]string
}

// PartError is an error in one of the texts.
type PartError struct {
	Part int // of Butane; else 0
	Err  error
}

func (e *PartError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *PartError) Unwrap() error { return e.Err }

// PerGuest reports whether the files depend on the VMID.
func (r Recipe) PerGuest() bool {
	if r.Variables == nil {
		return false
	}
	for _, text := range slices.Concat([]string{r.UserData, r.Ignition}, r.Butane, slices.Collect(maps.Values(r.Extra))) {
		if uses(text, VarID) {
			return true
		}
	}
	return false
}

// Make makes the files of the drive of the guest with that VMID.
func (r Recipe) Make(vmid int) (map[string][]byte, error) {
	text, err := r.text(vmid)
	if err != nil {
		return nil, err
	}
	_, meta, err := MetaData(r.MetaData)
	if err != nil {
		return nil, err
	}
	in := Input{UserData: text, Hostname: r.Hostname, InstanceID: r.InstanceID, MetaData: meta, NICs: r.NICs}
	files, err := NoCloud(in)
	if err != nil {
		return nil, err
	}
	if r.Rerun {
		const digits = 8
		in.InstanceID += "-" + Digest(files)[:digits]
		if files, err = NoCloud(in); err != nil {
			return nil, err
		}
	}
	for name, text := range r.Extra {
		if text, err = r.expand(text, vmid); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = []byte(text)
	}
	return files, nil
}

// UsesAddress reports whether a text uses the variable of an interface's address.
func (r Recipe) UsesAddress(nic int) bool {
	for _, text := range append([]string{r.UserData, r.Ignition}, r.Butane...) {
		for _, name := range []string{VarAddress, VarAddress6} {
			if r.Variables != nil && uses(text, NICVariable(name, nic)) {
				return true
			}
		}
	}
	return false
}

// MetaData reads keys of the meta-data in YAML. The same keys always give the same text;
// empty: there are none.
func MetaData(text string) (canonical string, keys map[string]any, err error) {
	if err := DecodeYAML(text, &keys); err != nil || len(keys) == 0 {
		return "", nil, err
	}
	b, err := yaml.Marshal(keys)
	if err != nil {
		return "", nil, fmt.Errorf("meta-data: %w", err)
	}
	return string(b), keys, nil
}

// Config returns the Ignition config of the guest with that VMID, and its version.
func (r Recipe) Config(vmid int) (text, version string, err error) {
	if text, err = r.text(vmid); err != nil {
		return "", "", err
	}
	version, err = CheckIgnition(text)
	return text, version, err
}

// text is the user-data.
func (r Recipe) text(vmid int) (string, error) {
	switch {
	case len(r.Butane) > 0:
		return r.butane(vmid)
	case r.Ignition != "":
		text, err := r.expand(r.Ignition, vmid)
		if err == nil {
			_, err = CheckIgnition(text)
		}
		return text, part(0, err)
	}
	text, err := r.expand(r.UserData, vmid)
	if err == nil {
		err = CheckUserData(text)
	}
	return text, part(0, err)
}

func (r Recipe) expand(text string, vmid int) (string, error) {
	if r.Variables == nil {
		return text, nil
	}
	all := maps.Clone(r.Variables)
	maps.Copy(all, networkVariables(r.NICs))
	all[VarID] = strconv.Itoa(vmid)
	return Expand(text, all)
}

// butane turns each of the texts into Ignition, and puts one on top of the other.
func (r Recipe) butane(vmid int) (text string, err error) {
	if r.Folder == "" && len(r.Files) > 0 {
		err = withFiles(r.Files, func(folder string) error {
			r.Folder = folder
			text, err = r.butane(vmid)
			return err
		})
		return text, err
	}
	for i, source := range r.Butane {
		source, err := r.expand(source, vmid)
		if err != nil {
			return "", part(i, err)
		}
		ignition, err := Butane(source, r.Folder)
		if err != nil {
			return "", part(i, err)
		}
		if i == 0 {
			text = ignition
			continue
		}
		if text, err = MergeIgnition(text, ignition); err != nil {
			return "", part(i, fmt.Errorf("merged with what is before it: %w", err))
		}
	}
	return text, nil
}

func part(n int, err error) error {
	if err == nil {
		return nil
	}
	return &PartError{n, err}
}
