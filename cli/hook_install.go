package cli

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/hook"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/remote"
)

// installing is one call of hook install.
type installing struct {
	target
	login
	nodes     []string
	addresses map[string]string
	storage   string
	binary    string
	print     bool
}

func newHookInstall(u *ui) *cobra.Command {
	i := &installing{}
	cmd := &cobra.Command{
		Use:   "install [--node NAME…]",
		Short: "Put the hook on Proxmox hosts",
		Long: `Copy this program into a storage for snippets of Proxmox hosts, over SSH: there
is no API for that. Where there is no ` + hook.PolicyFile + ` yet, one is
made that allows nothing. Running it again brings the hook up to date.

With --print, the commands that do the same by hand are printed.`,
		Example: `  proxplane hook install --node pve1 --node pve2 -i ~/.ssh/id_ed25519
  proxplane hook install --storage nfs --trust-new
  proxplane hook install --node pve1 --print`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return i.run(cmd.Context(), u) },
	}
	i.target.flags(cmd, false)
	fs := cmd.Flags()
	i.login.flags(fs, "root without it")
	fs.StringSliceVar(&i.nodes, "node", nil, "`NAME` of a host; without it, all that are online")
	fs.StringToStringVar(&i.addresses, "node-address", nil, "`NAME=ADDRESS` of a host for SSH, if not the one in the cluster")
	fs.StringVar(&i.storage, "storage", "local", "`STORAGE` for snippets")
	fs.StringVar(&i.binary, "binary", "", "`FILE` to copy, if not this program")
	fs.BoolVar(&i.print, "print", false, "print the commands, do nothing")
	_ = cmd.MarkFlagFilename("binary")
	return cmd
}

// place is where the hook is to be.
type place struct {
	node, address, file string
}

func (i *installing) run(ctx context.Context, u *ui) error {
	c, err := i.cluster(u)
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
		u.say("%s", i.byHand(file, places))
		return nil
	}
	program, machine, err := readProgram(file)
	if err != nil {
		return err
	}
	config, err := i.way(ctx, u, c)
	if err != nil {
		return advise(err, "Or print the commands that do it by hand: --print")
	}
	for _, p := range places {
		done, err := install(ctx, p, config, program, machine)
		if err != nil {
			return i.explain(u, fmt.Errorf("node %s: %w", p.node, err), p.address)
		}
		for _, line := range done {
			u.say("✓ %s  %s", p.node, line)
		}
	}
	u.say("VMs that need it have hookscript: %s:snippets/%s; what they may ask for, %s on each host says.", i.storage, hookblock.Script, hook.PolicyFile)
	return nil
}

// way is how to log in to nodes: as the flags say, or the Provider.
func (i *installing) way(ctx context.Context, u *ui, c *cluster) (remote.Config, error) {
	hosts, err := u.hosts(c.Connection.SSH)
	if err != nil || hosts == nil || i.identity != "" {
		return i.config(ctx, u, "")
	}
	config := hosts.Config
	config.User = cmp.Or(i.user, config.User)
	config.TrustFirst = config.TrustFirst || i.trustNew
	if len(i.hostKeys) > 0 {
		config.Fingerprints = i.hostKeys
	}
	return config, nil
}

// places are where the hook is to be on each node.
func (i *installing) places(ctx context.Context, c *cluster) ([]place, error) {
	s, err := c.client.StorageConfig(ctx, i.storage)
	if err != nil {
		return nil, c.fail(fmt.Errorf("read storage %s: %w", i.storage, err))
	}
	dir, err := snippetsDir(s)
	if err != nil {
		return nil, err
	}
	members, err := c.client.Cluster().Status(ctx)
	if err != nil {
		return nil, c.fail(err)
	}
	var places []place
	var names []string
	for _, m := range members {
		if m.Type != "node" {
			continue
		}
		names = append(names, m.Name)
		asked := slices.Contains(i.nodes, m.Name)
		if !asked && (len(i.nodes) > 0 || !m.Online || len(s.Nodes) > 0 && !slices.Contains(s.Nodes, m.Name)) {
			continue
		}
		if len(s.Nodes) > 0 && !slices.Contains(s.Nodes, m.Name) {
			return nil, fmt.Errorf("storage %s isn't on node %s; it is on %s", s.Name, m.Name, strings.Join(s.Nodes, ", "))
		}
		places = append(places, place{m.Name, i.addressOf(m, c), path.Join(dir, hookblock.Script)})
	}
	for _, n := range i.nodes {
		if !slices.Contains(names, n) {
			return nil, fmt.Errorf("there is no node %s; there are %s", n, strings.Join(names, ", "))
		}
	}
	return places, nil
}

// addressOf is where a node can be reached. One that is alone may not say.
func (i *installing) addressOf(m pve.ClusterMember, c *cluster) string {
	address := i.addresses[m.Name]
	if hosts := c.Connection.SSH; hosts != nil && address == "" {
		address = hosts.Addresses[m.Name]
	}
	if u, err := url.Parse(c.client.Endpoint()); m.IP == "" && err == nil {
		return cmp.Or(address, u.Hostname())
	}
	return cmp.Or(address, m.IP)
}

// snippetsDir is where a storage has its snippets.
func snippetsDir(s pve.StorageConfig) (string, error) {
	dir, ok := s.Folder("snippets")
	if !ok {
		return "", fmt.Errorf("storage %s is of type %s, which can't hold snippets", s.Name, s.Type)
	}
	if !slices.Contains(s.Content, "snippets") {
		return "", advise(fmt.Errorf("storage %s isn't for snippets", s.Name),
			fmt.Sprintf("Make it so: pvesm set %s --content %s", s.Name, strings.Join(append(slices.Clone(s.Content), "snippets"), ",")))
	}
	return dir, nil
}

// byHand are the commands that install the hook.
func (i *installing) byHand(program string, places []place) string {
	var b strings.Builder
	for _, p := range places {
		at := cmp.Or(i.user, "root") + "@" + p.address
		fmt.Fprintf(&b, "scp %s %s\n", quoted(program), quoted(at+":"+p.file))
		fmt.Fprintf(&b, "ssh %s %s\n", quoted(at), quoted("chmod 0755 "+quoted(p.file)))
		fmt.Fprintf(&b, "ssh %s %s\n", quoted(at), quoted(fmt.Sprintf("test -e %[1]s || { install -d -m 0755 %[2]s && echo 'rules: []' >%[1]s; }", hook.PolicyFile, path.Dir(hook.PolicyFile))))
	}
	return strings.TrimSpace(b.String())
}

// quoted is a word of a shell.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// machines are the processors that Proxmox runs on, as uname calls them.
var machines = map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}

// readProgram reads a program that runs on any Linux of its kind.
func readProgram(file string) (program []byte, machine string, err error) {
	fail := func(err error) ([]byte, string, error) {
		return nil, "", advise(fmt.Errorf("%s can't be a hook: %w", file, err), "Name a static build for Linux with --binary: CGO_ENABLED=0 GOOS=linux go build ./cmd/proxplane")
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

// install puts the hook on one node, and tells what was done.
func install(ctx context.Context, p place, config remote.Config, program []byte, machine string) ([]string, error) {
	conn, err := remote.Dial(ctx, p.address, config)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	is, err := conn.Run(ctx, "uname -m", nil)
	if err != nil {
		return nil, err
	}
	if is = strings.TrimSpace(is); is != machine {
		return nil, advise(fmt.Errorf("the program is for %s, and the host is %s", machine, is), "Name one that fits with --binary.")
	}
	if err := conn.MkdirAll(ctx, path.Dir(p.file), 0o755); err != nil {
		return nil, err
	}
	if err := conn.WriteFile(ctx, p.file, program, 0o755); err != nil {
		return nil, err
	}
	version, err := conn.Run(ctx, quoted(p.file)+" version", nil)
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
