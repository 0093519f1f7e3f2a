package spec

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/firstboot"
)

// proxmoxOptions gives the options of Proxmox that say the same as a
// cloud-config, if there are such.
//
// Proxmox writes a cloud-config of its own: it names the guest after the VM, gives
// the image's default user another name, a password that doesn't expire and keys,
// and upgrades packages unless told not to. A list of users is something else than
// that, since it leaves the default user out, with its rights: so is anything
// that isn't spelled out here.
func proxmoxOptions(userData, hostname string) (map[string]string, error) {
	if firstboot.FormatOf(userData) != firstboot.CloudConfig {
		return nil, errors.New("only a cloud-config can be said by it")
	}
	var config map[string]any
	if err := firstboot.DecodeYAML(userData, &config); err != nil {
		return nil, errors.New("the cloud-config isn't YAML")
	}
	// What isn't said is to be absent, whatever the template has.
	out := map[string]string{"ciuser": "", "cipassword": "", "sshkeys": "", "ciupgrade": "0"}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if !proxmoxOption(out, key, config[key], hostname) {
			return nil, fmt.Errorf("it can't say what %s says", key)
		}
	}
	if _, expires := config["chpasswd"]; expires != (out["cipassword"] != "") {
		return nil, errors.New("a password goes with chpasswd: {expire: false}")
	}
	return out, nil
}

// proxmoxOption puts one key of a cloud-config into options; false: it can't.
func proxmoxOption(out map[string]string, key string, value any, hostname string) bool {
	switch key {
	case "hostname":
		return value == hostname
	case "manage_etc_hosts":
		return value == true
	case "user":
		name, ok := value.(string)
		out["ciuser"] = name
		return ok && name != ""
	case "users":
		list, ok := value.([]any)
		return ok && len(list) == 1 && list[0] == "default"
	case "password":
		password, ok := value.(string)
		out["cipassword"] = password
		return ok && password != "" && !strings.ContainsAny(password, "\r\n")
	case "chpasswd":
		m, ok := value.(map[string]any)
		return ok && len(m) == 1 && m["expire"] == false
	case "package_upgrade":
		upgrade, ok := value.(bool)
		if upgrade {
			out["ciupgrade"] = "1"
		}
		return ok
	case "ssh_authorized_keys":
		keys, ok := sshKeys(value)
		out["sshkeys"] = keys
		return ok
	}
	return false
}

// sshKeys joins keys that Proxmox takes: it checks them.
func sshKeys(value any) (string, bool) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return "", false
	}
	var lines []string
	for _, item := range list {
		line, ok := item.(string)
		if !ok || !goodKey(line) {
			return "", false
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n"), true
}

// goodKey reports whether a line is a public key without options before it.
func goodKey(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 2 || strings.ContainsAny(line, "\r\n") {
		return false
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(blob) < 4 {
		return false
	}
	n := int(binary.BigEndian.Uint32(blob))
	return n == len(fields[0]) && len(blob) > 4+n && string(blob[4:4+n]) == fields[0]
}
