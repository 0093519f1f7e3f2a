// Package doctor has the command that checks whether Proxmox has everything that manifests need.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/status"
)

// Flags are the flags of `proxplane doctor`.
type Flags struct {
	target.Target
	output   string
	commands bool
	user     string
	token    string
	also     []string // commands that people use beside apply
	userFlag string   // the name of the flag

	about *model.Desired // what is wanted, where no manifests say so
}

// About makes the doctor check a wanted state that isn't from manifests, whose door also does these things
// inside of machines: exec, read-file.
func (f *Flags) About(want model.Desired, inside ...string) { f.about, f.also = &want, inside }

// given reports whether it is known what is wanted.
func (f *Flags) given() bool { return f.about != nil || f.Given() }

// New returns the command `proxplane doctor`.
func New(u *ui.UI) *cobra.Command {
	f := &Flags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check Proxmox, the credentials and what manifests need",
		Long: `Check whether Proxmox can be reached and is in good shape, and with -f whether it
has what the manifests name: storages, bridges, templates, devices, hookscripts.
Where first-boot data has to be copied to nodes over SSH, it tries to log in to them.

The doctor also computes the least privileges that the manifests need over their
whole life, from the calls that are made for them, for the version of Proxmox that
answers. It compares them with what the credentials have, and prints the pveum
commands that grant exactly that. Nothing is changed.

What people do by hand is not part of that life: with --for drain, what it takes to
migrate these machines is counted in; with --for exec and --for read-file, what it
takes to run programs and to read files inside them through the guest agent.

The exit status is 1 when something that is needed is missing.`,
		Example: `  proxplane doctor
  proxplane doctor -f machines.yaml
  proxplane doctor -f machines.yaml --print-commands
  proxplane doctor -f machines.yaml --print-commands --user ci@pve --token proxplane
  proxplane doctor -f machines.yaml --for move,drain,exec
  proxplane doctor -f machines.yaml -o json`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.Run(cmd.Context(), u) },
	}
	f.Target.Flags(cmd, false)
	f.AddTo(cmd, "user", "token")
	return cmd
}

// AddTo adds the flags to a command; the flags for the account may have other names.
func (f *Flags) AddTo(cmd *cobra.Command, user, token string) {
	cmd.Flags().StringSliceVar(&f.also, "for", nil, "count in what these `COMMANDS` need: "+strings.Join(counted(), ", "))
	f.PrintFlags(cmd, user, token)
}

// PrintFlags adds those of them that say what is printed.
func (f *Flags) PrintFlags(cmd *cobra.Command, user, token string) {
	fs := cmd.Flags()
	f.userFlag = user
	fs.StringVarP(&f.output, "output", "o", "", "`FORMAT`: json, for programs")
	fs.BoolVar(&f.commands, "print-commands", false, "print the pveum commands also when nothing is missing")
	fs.StringVar(&f.user, user, "", "`USER@REALM` whom the commands are for (default: the one who is logged in, or proxplane@pve instead of root@pam)")
	fs.StringVar(&f.token, token, "", "`NAME` of the token that the commands are for (default: the one that is used, or proxplane)")
}

func (f *Flags) Run(ctx context.Context, u *ui.UI) error {
	if err := command.CheckOutput(f.output, "json"); err != nil {
		return err
	}
	if f.user != "" && !strings.Contains(f.user, "@") {
		return fmt.Errorf("--%s %s: a user has a realm, like proxplane@pve", f.userFlag, f.user)
	}
	if err := f.checkFor(); err != nil {
		return err
	}
	all, err := f.patients(u)
	if err != nil {
		return err
	}
	var reports []*Diagnosis
	ok := true
	for i, w := range all {
		d := f.examine(ctx, u, w)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ok = ok && d.OK
		reports = append(reports, d)
		if f.output == "" {
			if i > 0 {
				u.Say("")
			}
			d.write(u.Out, u.Page(u.Out))
		}
	}
	if f.output == "json" {
		enc := json.NewEncoder(u.Out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(reports); err != nil {
			return err
		}
	}
	if !ok {
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	return nil
}

// moving are the commands that migrate machines, which all need the same.
var moving = []string{"move", "drain", "undrain"}

// inside are the kinds of actions that reach into machines, by what people call them.
var inside = map[string]string{"exec": "Exec", "read-file": "ReadFile"}

// counted are all that can be counted in.
func counted() []string { return append(slices.Clone(moving), slices.Sorted(maps.Keys(inside))...) }

// facts are what privileges depend on beside manifests, by what people use.
func (f *Flags) facts(to privileges.Facts) privileges.Facts {
	for _, name := range f.also {
		to.Moves = to.Moves || slices.Contains(moving, name)
		if kind := inside[name]; kind != "" {
			to.Inside = append(to.Inside, kind)
		}
	}
	return to
}

// checkFor checks which commands privileges are wanted for.
func (f *Flags) checkFor() error {
	for _, name := range f.also {
		if !slices.Contains(counted(), name) {
			return fmt.Errorf("--for %s: it takes %s; what apply and delete need is always counted in", name, strings.Join(counted(), ", "))
		}
	}
	if len(f.also) > 0 && !f.given() {
		return ui.Advise(fmt.Errorf("--for %s: what that needs depends on the machines", strings.Join(f.also, ",")), "Name their manifests: -f FILE.")
	}
	return nil
}

// patients are the clusters to look at: those of the manifests, or the one of the
// environment.
func (f *Flags) patients(u *ui.UI) ([]manifest.Wanted, error) {
	if f.Given() {
		return f.Wanted(u)
	}
	w, err := f.One(u)
	if f.about != nil {
		w.Desired = *f.about
	}
	return []manifest.Wanted{w}, err
}

// examine looks at one cluster.
func (f *Flags) examine(ctx context.Context, u *ui.UI, w manifest.Wanted) *Diagnosis {
	d := &Diagnosis{Provider: w.Provider.Name, Endpoints: w.Connection.Endpoints, Manifests: f.given()}
	e := &examination{ctx: ctx, u: u, f: f, d: d, conn: w.Connection, want: w.Desired, allow: w.Allow}
	e.endpoints()
	if e.reached {
		c, err := target.Connect(u, w)
		if err != nil {
			e.bad(areaConnection, err.Error(), "")
		} else {
			defer c.Client.Close()
			e.c = c
			e.inside()
		}
	}
	d.OK = !d.has(bad)
	return d
}

// examination is the state of looking at one cluster.
type examination struct {
	ctx     context.Context
	u       *ui.UI
	f       *Flags
	d       *Diagnosis
	conn    manifest.Connection
	want    model.Desired
	allow   *api.ProviderAllow
	c       *target.Site
	reached bool
	others  []string // who else may name VMs; nil: not asked yet
	facts
}

// inside looks at what takes a login.
func (e *examination) inside() {
	if !e.login() {
		return
	}
	if err := e.gather(); err != nil {
		e.bad(areaCluster, err.Error(), strings.Join(ui.WhatToDo(err, e.conn), " "))
		return
	}
	e.quorum()
	e.nodes()
	e.storages()
	e.leftovers()
	e.orphans()
	if e.d.Manifests {
		e.allowed()
		e.images()
		e.bridges()
		e.pools()
		e.mappings()
		e.haGroups()
		e.guests()
		e.unseen()
		e.snippets()
	}
	e.account()
	e.privileges()
}

func (e *examination) note(area string, l level, text, do string) {
	e.d.Checks = append(e.d.Checks, check{Area: area, Level: l, Text: status.Sentence(text), Do: do})
}

func (e *examination) good(area, format string, args ...any) {
	e.note(area, good, fmt.Sprintf(format, args...), "")
}
func (e *examination) skip(area, text, do string) { e.note(area, skipped, text, do) }
func (e *examination) warn(area, text, do string) { e.note(area, warning, text, do) }
func (e *examination) bad(area, text, do string)  { e.note(area, bad, text, do) }
