// Package version is which proxplane this is.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pve/schema"
)

// The linker stamps these into builds by make and into releases. Where they are
// empty, the Go tool's own stamp is taken, as after go install.
var (
	version string // "v0.3.0", or "v0.3.0-12-g1ab88e2" twelve commits later
	commit  string // in full
	built   string // the commit's time, RFC 3339
)

// build is which proxplane this is.
type build struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Time     string   `json:"time,omitempty"`
	Modified bool     `json:"modified,omitempty"` // the checkout had changes that aren't committed
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Proxmox  []string `json:"proxmox"` // the releases that it knows
}

// This returns the build that runs.
func This() build {
	b := build{Version: version, Commit: commit, Time: built, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Proxmox: schema.Releases()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.complete(info)
	}
	if b.Version == "" {
		b.Version = "development build"
	}
	b.Version, b.Modified = strings.TrimSuffix(b.Version, "-dirty"), b.Modified || strings.HasSuffix(b.Version, "-dirty")
	return b
}

// complete adds what the Go tool knows, if the linker has set nothing.
func (b *build) complete(info *debug.BuildInfo) {
	if v := info.Main.Version; b.Version == "" && v != "(devel)" {
		b.Version = v
	}
	if b.Commit != "" {
		return
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// String returns the build in one line.
func (b build) String() string {
	about := []string{}
	if b.Commit != "" {
		from := "commit " + b.Commit[:min(len(b.Commit), 12)]
		if b.Modified {
			from += " with local changes"
		}
		about = append(about, from)
	}
	if day, _, ok := strings.Cut(b.Time, "T"); ok {
		about = append(about, day)
	}
	about = append(about, b.Go, b.Platform)
	return fmt.Sprintf("proxplane %s (%s), knows Proxmox VE %s", b.Version, strings.Join(about, ", "), strings.Join(b.Proxmox, ", "))
}

// New returns the command `proxplane version`.
func New() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of proxplane",
		Long:  "Print the version of proxplane, the commit that it was built from, and the releases of Proxmox VE that it knows.",
		Example: `  proxplane version
  proxplane version -o json`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.CheckOutput(output, "json"); err != nil {
				return err
			}
			if output == "json" {
				return ui.WriteJSON(cmd.OutOrStdout(), This())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), This())
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT`: json, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// AddFlag gives a program the flag that everybody tries first.
func AddFlag(root *cobra.Command) {
	root.Version = This().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version and exit")
}
