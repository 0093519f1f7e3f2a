package version

import (
	"runtime/debug"
	"testing"
)

func TestTheVersionNamesTheCommit(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  build
		info   debug.BuildInfo
		want   string
	}{
		{
			"what the linker was told comes before the Go tool's stamp", build{Version: "v0.3.0", Commit: "1ab88e2f00112233", Time: "2026-11-15T19:00:00Z"},
			debug.BuildInfo{Main: debug.Module{Version: "v9.9.9"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "other"}}},
			"proxplane v0.3.0 (commit 1ab88e2f0011, 2026-11-15, go, linux/amd64), knows Proxmox VE 9.2",
		},
		{
			"go install knows the version of the module only", build{},
			debug.BuildInfo{Main: debug.Module{Version: "v0.2.1"}},
			"proxplane v0.2.1 (go, linux/amd64), knows Proxmox VE 9.2",
		},
		{
			"go build in a checkout knows the commit, and that it isn't all of it", build{},
			debug.BuildInfo{Main: debug.Module{Version: "v0.2.1-0.20261115"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "vcs.time", Value: "2026-11-15T19:00:00Z"},
			}},
			"proxplane v0.2.1-0.20261115 (commit abc with local changes, 2026-11-15, go, linux/amd64), knows Proxmox VE 9.2",
		},
	} {
		b := c.given
		b.Go, b.Platform, b.Proxmox = "go", "linux/amd64", []string{"9.2"}
		b.complete(&c.info)
		if have := b.String(); have != c.want {
			t.Errorf("%s:\nhave %s\nwant %s", c.reason, have, c.want)
		}
	}
}
