package firstboot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Input is the input of a NoCloud drive.
type Input struct {
	UserData   string         // a cloud-config, a script, MIME multipart, Ignition: as it is
	Hostname   string         // the guest's name
	InstanceID string         // cloud-init runs again when it changes; empty: the hostname
	MetaData   map[string]any // further keys; they replace the default ones
	NICs       []NIC
}

// NIC is a network interface as the guest is to configure it. The type has no name of its
// own, so that recipes of package model, which imports nothing, convert to [Recipe].
type NIC = struct {
	MAC       string
	Addresses []string // CIDR; none: DHCP, unless it is manual
	Manual    bool     // no DHCP for IPv4
	DHCP4     bool     // DHCP for IPv4 beside addresses
	DHCP6     bool
	SLAAC     bool // take the IPv6 address that a router announces
	Gateway   string
	Gateway6  string
	DNS       []string
	Search    []string
	MTU       int
}

// Limits of Proxmox for snippets on its own cloud-init drive, and of drives of ours.
const (
	MaxSnippet  = 1 << 20 // each of the files
	MaxSnippets = 3 << 20 // all of them
	MaxDrive    = 16 << 20
)

// Names of the files of a drive.
const (
	UserDataFile      = "user-data"
	MetaDataFile      = "meta-data"
	NetworkConfigFile = "network-config"
)

// NoCloud makes the files of a drive.
func NoCloud(in Input) (map[string][]byte, error) {
	if len(in.UserData) > MaxDrive {
		return nil, fmt.Errorf("user-data has %d bytes, more than the %d that fit on a drive", len(in.UserData), MaxDrive)
	}
	meta := map[string]any{"instance-id": in.InstanceID}
	if in.InstanceID == "" {
		meta["instance-id"] = in.Hostname
	}
	if in.Hostname != "" {
		meta["local-hostname"] = in.Hostname
	}
	maps.Copy(meta, in.MetaData)
	metaData, err := yaml.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("meta-data: %w", err)
	}
	files := map[string][]byte{UserDataFile: []byte(in.UserData), MetaDataFile: metaData}
	if len(in.NICs) > 0 {
		if files[NetworkConfigFile], err = networkConfig(in.NICs); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Digest returns a digest of all files.
func Digest(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}
