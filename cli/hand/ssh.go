package hand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/login"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
)

// shell is one call of ssh.
type shell struct {
	target.Target
	login.SSH
	address string
	port    int
	tty     bool
	timeout time.Duration
}

// NewSSH returns the command `proxplane ssh`.
func NewSSH(u *ui.UI) *cobra.Command {
	s := &shell{}
	cmd := &cobra.Command{
		Use:   "ssh VM [-- COMMAND…]",
		Short: "Log in to a machine over SSH",
		Long: `Find the address of a machine, and log in to it or run a command there. The
address is the one that its guest agent reports, or a static one of its config or
manifest. A machine that has just been started is waited for.

Host keys are verified: they must be known, or be trusted with --trust-new when
they are seen first. Keys are remembered for the machine, not for its address.
The exit status is that of the command.`,
		Example: `  proxplane ssh web-1
  proxplane ssh web-1 -l core -i ~/.ssh/id_ed25519 --trust-new
  proxplane ssh web-1 --jump root@pve1 -- uptime
  proxplane ssh web-1 -f machines.yaml -- cat /etc/os-release`,
		Args:              command.Takes(1, 0),
		ValidArgsFunction: s.CompleteVMs(u),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.On(cmd.Context(), u, args[0], func(c *target.Site, g *model.Guest) error {
				return s.run(cmd.Context(), u, c, g, strings.Join(args[1:], " "))
			})
		},
	}
	s.Target.Flags(cmd, false)
	fs := cmd.Flags()
	s.SSH.Flags(fs, "without it, the one of the machine's cloud-init settings, or root")
	fs.StringVar(&s.address, "address", "", "`ADDRESS` of the machine, if it can't be found out")
	fs.IntVar(&s.port, "port", 22, "`PORT` of its SSH server")
	fs.BoolVarP(&s.tty, "tty", "t", false, "give the command a terminal")
	fs.DurationVar(&s.timeout, "timeout", 2*time.Minute, "how long to wait for the machine; a `TIME`, 0 for ever")
	return cmd
}

// loginTime is how long a login may take: a person says meanwhile whether a key is the right
// one, and guests that have just booted are busy.
const loginTime = time.Minute

func (s *shell) run(ctx context.Context, u *ui.UI, c *target.Site, g *model.Guest, command string) error {
	if err := errors.Join(c.Observer.Config(ctx, g.VMID), c.Observer.Status(ctx, g.VMID)); err != nil {
		return c.Fail(err)
	}
	if g = c.Observer.Snapshot().Guests[g.VMID]; g == nil || g.Config == nil {
		return errors.New("the machine went away")
	}
	if g.Status != model.StatusRunning {
		return ui.Advise(fmt.Errorf("VM %d is %s", g.VMID, g.Status), fmt.Sprintf("Start it: proxplane power on %d", g.VMID))
	}
	if s.User == "" {
		s.User = cmp.Or(g.Config.Options["ciuser"], "root")
	}
	alias := aliasOf(g)
	config, err := s.Config(ctx, u, alias)
	if err != nil {
		return err
	}
	config.Port, config.Timeout = s.port, loginTime
	if config.Jump != nil {
		config.Jump.Timeout = loginTime
	}
	waiting, cancel := ui.WithTimeout(ctx, s.timeout)
	defer cancel()
	address, err := s.find(waiting, u, c, g)
	if err != nil {
		return err
	}
	conn, err := s.dial(waiting, u, address, config)
	if err != nil {
		return s.Explain(u, err, cmp.Or(config.HostAlias, address))
	}
	defer conn.Close()
	return session(ctx, u, conn, command, s.tty)
}

// aliasOf is the name under which a machine's host key is remembered. Whoever has
// its address next has another one.
func aliasOf(g *model.Guest) string {
	for pair := range strings.SplitSeq(g.Config.Options["smbios1"], ",") {
		if id, ok := strings.CutPrefix(pair, "uuid="); ok {
			return "vm-" + id
		}
	}
	return fmt.Sprintf("vm-%d-%s", g.VMID, g.Name)
}

// find returns a machine's address: a known one, or that reported by its agent.
func (s *shell) find(ctx context.Context, u *ui.UI, c *target.Site, g *model.Guest) (string, error) {
	if s.address != "" {
		return s.address, nil
	}
	if static := staticAddresses(c, g); len(static) > 0 {
		return static[0].String(), nil
	}
	if !model.AgentOn(g.Config.Options) {
		return "", ui.Advise(fmt.Errorf("the address of %s isn't known: its config has no static address and no guest agent", g.Name),
			"Give it with --address, or the manifest that has it with -f.")
	}
	if len(g.Addresses) == 0 {
		patience := time.AfterFunc(observe.AgentBudget, func() { u.Note("waiting for the guest agent of %s to report its address", g.Name) })
		defer patience.Stop()
		if err := c.Observer.Addresses(ctx, g.VMID); err != nil {
			var late *ui.TimeoutError
			if errors.As(err, &late) {
				return "", ui.Advise(fmt.Errorf("the guest agent of %s reported no address within %s", g.Name, s.timeout), "Give the address with --address.")
			}
			return "", c.Fail(err)
		}
		if g = c.Observer.Snapshot().Guests[g.VMID]; g == nil || len(g.Addresses) == 0 {
			return "", errors.New("the machine has stopped")
		}
	}
	return g.Addresses[0].Addr().String(), nil
}

// dial logs in. A server that isn't there yet is waited for.
func (s *shell) dial(ctx context.Context, u *ui.UI, address string, config ssh.Config) (*ssh.Conn, error) {
	var last error
	for {
		conn, err := ssh.Dial(ctx, address, config)
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, cmp.Or(last, err)
		case !errors.Is(err, ssh.ErrUnreachable):
			return nil, err
		case last == nil:
			u.Note("waiting for the SSH server of the machine: %v", err)
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// session runs a command or a shell, with the terminal that we have.
func session(ctx context.Context, u *ui.UI, conn *ssh.Conn, command string, wantTTY bool) error {
	session := ssh.Session{Command: command, In: u.In, Out: ui.Raw(u.Out), Err: ui.Raw(u.Err)}
	in, isTerminal := ui.Terminal(u.In)
	if isTerminal && (command == "" || wantTTY) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(in.Fd()), old) }()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		sizes := make(chan ssh.Size, 1)
		columns, rows, err := term.GetSize(int(in.Fd()))
		if err != nil {
			return err
		}
		session.Terminal = &ssh.Terminal{Type: cmp.Or(u.Getenv("TERM"), "xterm"), Columns: columns, Rows: rows, Resized: sizes}
		onResize(ctx, func() {
			if columns, rows, err := term.GetSize(int(in.Fd())); err == nil {
				select {
				case sizes <- ssh.Size{Columns: columns, Rows: rows}:
				case <-ctx.Done():
				}
			}
		})
	}
	status, err := conn.Session(ctx, session)
	if err == nil && status != 0 {
		return &ui.ExitError{Code: status}
	}
	return err
}
