package hook

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/host/hook"
	"github.com/proxplane/proxplane/host/ssh"
)

// installing is one call of hook install.
type installing struct {
	hookHosts
	binary string
}

func newHookInstall(u *ui.UI) *cobra.Command {
	i := &installing{}
	cmd := &cobra.Command{
		Use:   "install [--node NAME…]",
		Short: "Install the hook on Proxmox hosts",
		Long: `Copy this program into a storage for snippets of Proxmox hosts, over SSH: there
is no API for that. Where there is no ` + hook.PolicyFile + ` yet, one is
made that allows nothing. Running it again brings the hook up to date.

With --print, the commands that do the same by hand are printed.`,
		Example: `  proxplane hook install --node pve1 --node pve2 -i ~/.ssh/id_ed25519
  proxplane hook install --storage nfs --trust-new
  proxplane hook install --node pve1 --print`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return i.run(cmd.Context(), u) },
	}
	i.flags(cmd)
	cmd.Flags().StringVar(&i.binary, "binary", "", "`FILE` to copy, if not this program")
	_ = cmd.MarkFlagFilename("binary")
	return cmd
}

func (i *installing) run(ctx context.Context, u *ui.UI) error {
	c, err := i.Site(u)
	if err != nil {
		return err
	}
	places, err := i.places(ctx, c)
	if err != nil {
		return err
	}
	file := i.binary
	if file == "" {
		if file, err = os.Executable(); err != nil {
			return err
		}
	}
	if i.print {
		u.Say("%s", i.byHand(file, places))
		return nil
	}
	program, machine, err := readProgram(file)
	if err != nil {
		return err
	}
	config, err := i.way(ctx, u, c)
	if err != nil {
		return ui.Advise(err, "Or print the commands to run by hand: --print.")
	}
	for _, p := range places {
		done, err := install(ctx, p, config, program, machine)
		if err != nil {
			return i.Explain(u, fmt.Errorf("node %s: %w", p.node, err), p.address)
		}
		for _, line := range done {
			u.Say("✓ %s  %s", p.node, line)
		}
	}
	u.Say("VMs that need it get hookscript: %s:snippets/%s. Root decides in %s on each host what they may ask for.", i.storage, hookblock.Script, hook.PolicyFile)
	return nil
}

// byHand are the commands that install the hook.
func (i *installing) byHand(program string, places []place) string {
	var b strings.Builder
	for _, p := range places {
		fmt.Fprintln(&b, i.scpLine(p, program))
		fmt.Fprintln(&b, i.sshLine(p, "chmod 0755 "+ui.Quoted(p.file)))
		fmt.Fprintln(&b, i.sshLine(p, fmt.Sprintf("test -e %[1]s || { install -d -m 0755 %[2]s && echo 'rules: []' >%[1]s; }", hook.PolicyFile, path.Dir(hook.PolicyFile))))
	}
	return strings.TrimSpace(b.String())
}

// machines are the processors that Proxmox runs on, as uname calls them.
var machines = map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}

// readProgram reads a program that runs on any Linux of its kind.
func readProgram(file string) (program []byte, machine string, err error) {
	fail := func(err error) ([]byte, string, error) {
		return nil, "", ui.Advise(fmt.Errorf("%s can't be a hook: %w", file, err), "Name a static build for Linux with --binary: CGO_ENABLED=0 GOOS=linux go build ./cmd/proxplane")
	}
	if program, err = os.ReadFile(file); err != nil {
		return nil, "", err
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fail(errors.New("it is no program for Linux"))
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fail(errors.New("it needs libraries, which a host may have in other versions"))
	}
	if machine = machines[f.Machine]; machine == "" {
		return fail(fmt.Errorf("it is for %s", f.Machine))
	}
	return program, machine, nil
}

// install installs the hook on one node, and returns what was done.
func install(ctx context.Context, p place, config ssh.Config, program []byte, machine string) ([]string, error) {
	conn, err := ssh.Dial(ctx, p.address, config)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	is, err := conn.Run(ctx, "uname -m", nil)
	if err != nil {
		return nil, err
	}
	if is = strings.TrimSpace(is); is != machine {
		return nil, ui.Advise(fmt.Errorf("the program is for %s, and the host is %s", machine, is), "Name one that fits with --binary.")
	}
	if err := conn.MkdirAll(ctx, path.Dir(p.file), 0o755); err != nil {
		return nil, err
	}
	if err := conn.WriteFile(ctx, p.file, program, 0o755); err != nil {
		return nil, err
	}
	version, err := conn.Run(ctx, ui.Quoted(p.file)+" version", nil)
	if err != nil {
		return nil, err
	}
	version, _, _ = strings.Cut(version, "\n")
	done := []string{fmt.Sprintf("%s is %s", p.file, version)}
	switch _, err := conn.Stat(ctx, hook.PolicyFile); {
	case err == nil:
		return append(done, hook.PolicyFile+" is kept"), nil
	case !errors.Is(err, fs.ErrNotExist):
		return done, err
	}
	if err := conn.MkdirAll(ctx, path.Dir(hook.PolicyFile), 0o755); err != nil {
		return done, err
	}
	if err := conn.WriteFile(ctx, hook.PolicyFile, []byte(hook.StartingPolicy), 0o644); err != nil {
		return done, err
	}
	return append(done, hook.PolicyFile+" is new, and allows nothing yet"), nil
}
