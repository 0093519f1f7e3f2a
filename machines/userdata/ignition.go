package userdata

import (
	"encoding/base64"
	"encoding/json"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_4/types"
)

// setupUnit runs the setup once; Ignition itself runs nothing.
const setupUnit = `[Unit]
Description=Make this machine a node
After=network-online.target
Wants=network-online.target
ConditionPathExists=!/var/lib/kubelet/.set-up

[Service]
Type=oneshot
ExecStart=` + setupPath + `
ExecStartPost=/usr/bin/touch /var/lib/kubelet/.set-up
Restart=on-failure
RestartSec=10

[Install]
WantedBy=multi-user.target
`

// ignition is the user-data for Flatcar.
func (c Config) ignition(files []file) (string, error) {
	out := types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
	for _, f := range append(files, file{"/etc/hostname", 0o644, c.Name + "\n"}) {
		if f.path == kubeletUnit {
			out.Systemd.Units = append(out.Systemd.Units, types.Unit{Name: "kubelet.service", Contents: util.StrToPtr(f.content)})
			continue
		}
		source := "data:;base64," + base64.StdEncoding.EncodeToString([]byte(f.content))
		out.Storage.Files = append(out.Storage.Files, types.File{
			Node:          types.Node{Path: f.path, Overwrite: util.BoolToPtr(true)},
			FileEmbedded1: types.FileEmbedded1{Mode: util.IntToPtr(f.mode), Contents: types.Resource{Source: &source}},
		})
	}
	out.Systemd.Units = append(out.Systemd.Units, types.Unit{Name: "proxplane-node-setup.service", Enabled: util.BoolToPtr(true), Contents: util.StrToPtr(setupUnit)})
	if c.DisableAutoUpdate {
		out.Systemd.Units = append(out.Systemd.Units, types.Unit{Name: "update-engine.service", Mask: util.BoolToPtr(true)})
	}
	if c.DisableAutoUpdate || c.DisableLocksmithD {
		out.Systemd.Units = append(out.Systemd.Units, types.Unit{Name: "locksmithd.service", Mask: util.BoolToPtr(true)})
	}
	if len(c.SSHKeys) > 0 {
		core := types.PasswdUser{Name: "core"}
		for _, key := range c.SSHKeys {
			core.SSHAuthorizedKeys = append(core.SSHAuthorizedKeys, types.SSHAuthorizedKey(key))
		}
		out.Passwd.Users = []types.PasswdUser{core}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return string(b) + "\n", err
}
