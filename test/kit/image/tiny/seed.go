//go:build linux

package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sigs.k8s.io/yaml"
)

// seed is what a drive labelled cidata has.
type seed struct{ user, meta, network string }

// findSeed looks at all block devices.
func findSeed() (seed, error) {
	devices, err := os.ReadDir("/sys/class/block")
	if err != nil {
		return seed{}, err
	}
	for _, d := range devices {
		device := filepath.Join("/dev", d.Name())
		if !strings.EqualFold(volumeLabel(device), "cidata") {
			continue
		}
		const dir = "/run/seed"
		if err := mount(device, dir, "iso9660", "", syscall.MS_RDONLY); err != nil {
			return seed{}, err
		}
		var s seed
		for name, into := range map[string]*string{"user-data": &s.user, "meta-data": &s.meta, "network-config": &s.network} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !os.IsNotExist(err) {
				return seed{}, err
			}
			*into = string(data)
		}
		logf("seed on %s: user-data of %d bytes", device, len(s.user))
		return s, syscall.Unmount(dir, 0)
	}
	return seed{}, nil
}

// volumeLabel is the name of an ISO 9660 image.
func volumeLabel(device string) string {
	f, err := os.Open(device)
	if err != nil {
		return ""
	}
	defer f.Close()
	label := make([]byte, 32)
	if _, err := f.ReadAt(label, 16*2048+40); err != nil {
		return ""
	}
	return strings.TrimRight(string(label), " \x00")
}

// cloudConfig is the part of cloud-init's language that is understood.
type cloudConfig struct {
	Hostname   string `json:"hostname"`
	WriteFiles []struct {
		Path        string `json:"path"`
		Content     string `json:"content"`
		Encoding    string `json:"encoding"`
		Permissions string `json:"permissions"`
	} `json:"write_files"`
	Mounts [][]string `json:"mounts"`
	RunCmd []any      `json:"runcmd"`
	User   string     `json:"user"` // the default one
	Users  []user     `json:"users"`
	Keys   []string   `json:"ssh_authorized_keys"`
}

// apply does what the seed says, in cloud-init's order.
func (s seed) apply() {
	var config cloudConfig
	switch {
	case strings.HasPrefix(s.user, "#cloud-config"):
		report("user-data", yaml.Unmarshal([]byte(s.user), &config))
	case strings.HasPrefix(s.user, "#!"):
		report("user-data", os.WriteFile("/run/user-data", []byte(s.user), 0o700))
		config.RunCmd = []any{"sh /run/user-data"}
	case s.user != "": // Ignition, for whoever wants to look at it
		report("user-data", os.WriteFile("/run/user-data", []byte(s.user), 0o600))
	}
	var meta struct {
		Hostname string `json:"local-hostname"`
	}
	report("meta-data", yaml.Unmarshal([]byte(s.meta), &meta))
	for _, name := range []string{config.Hostname, meta.Hostname} {
		if name != "" {
			report("hostname", syscall.Sethostname([]byte(name)))
			break
		}
	}
	report("network", configureNetwork(s.network))
	for _, m := range config.Mounts {
		report("mounts", mountShare(m))
	}
	for _, f := range config.WriteFiles {
		report("write_files", writeFile(f.Path, f.Content, f.Encoding, f.Permissions))
	}
	who, err := config.authorizedKeys()
	report("ssh_authorized_keys", err)
	if len(who) > 0 {
		go func() { report("SSH", serveSSH(who)) }()
	}
	for _, c := range config.RunCmd {
		report("runcmd", runCommand(c))
	}
}

// mountShare mounts an entry of "mounts": what, where, type, options.
func mountShare(entry []string) error {
	if len(entry) < 3 {
		return fmt.Errorf("%q: too short", entry)
	}
	options := ""
	if len(entry) > 3 {
		options = entry[3]
	}
	var flags uintptr
	var data []string
	for _, o := range strings.Split(options, ",") {
		switch o {
		case "", "defaults", "rw", "nofail":
		case "ro":
			flags |= syscall.MS_RDONLY
		default:
			data = append(data, o)
		}
	}
	return mount(entry[0], entry[1], entry[2], strings.Join(data, ","), flags)
}

func writeFile(path, content, encoding, permissions string) error {
	data := []byte(content)
	if encoding == "b64" || encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(content); err != nil {
			return err
		}
	}
	mode := uint64(0o644)
	if permissions != "" {
		var err error
		if mode, err = strconv.ParseUint(permissions, 8, 32); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, os.FileMode(mode))
}

// runCommand runs a line for the shell, or a list of words.
func runCommand(command any) error {
	words := []string{"sh", "-c", fmt.Sprint(command)}
	if list, ok := command.([]any); ok {
		words = words[:0]
		for _, w := range list {
			words = append(words, fmt.Sprint(w))
		}
	}
	if len(words) == 0 {
		return nil
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
