package hand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// Console is one call of console.
type Console struct {
	target.Target
	serial bool
	port   string
}

// NewConsole returns the command `proxplane console`.
func NewConsole(u *ui.UI) *cobra.Command {
	o := &Console{}
	cmd := &cobra.Command{
		Use:   "console VM",
		Short: "Open the console of a machine",
		Long: `Print the URL of a machine's console in Proxmox' web interface. With --serial,
attach this terminal to the machine's serial console; Ctrl-] or Ctrl-O leaves it.`,
		Example: `  proxplane console web-1
  proxplane console web-1 --serial
  proxplane console web-1 --serial --port serial1
  xdg-open "$(proxplane console web-1)"`,
		Args:              command.Takes(1, 1),
		ValidArgsFunction: o.CompleteVMs(u),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.Run(cmd.Context(), u, args[0]) },
	}
	o.Target.Flags(cmd, false)
	o.Flags(cmd)
	return cmd
}

func (o *Console) Flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.serial, "serial", false, "attach to the serial console")
	cmd.Flags().StringVar(&o.port, "port", "serial0", "which serial `PORT`, with --serial")
}

func (o *Console) Run(ctx context.Context, u *ui.UI, name string) error {
	return o.On(ctx, u, name, func(c *target.Site, g *model.Guest) error {
		if !o.serial {
			u.Say("%s", consoleURL(c.Client.Endpoint(), g))
			return nil
		}
		return attach(ctx, c, u, g, o.port)
	})
}

// consoleURL is the page of Proxmox with the console of a guest.
func consoleURL(endpoint string, g *model.Guest) string {
	query := url.Values{
		"console": {"kvm"}, "novnc": {"1"}, "vmid": {fmt.Sprint(g.VMID)}, "vmname": {g.Name}, "node": {g.Node}, "resize": {"scale"},
	}
	return strings.TrimSuffix(endpoint, "/") + "/?" + query.Encode()
}

// attach connects the terminal with the guest's serial console.
func attach(ctx context.Context, c *target.Site, u *ui.UI, g *model.Guest, port string) error {
	if err := errors.Join(c.Observer.Config(ctx, g.VMID), c.Observer.Status(ctx, g.VMID)); err != nil {
		return c.Fail(err)
	}
	if g = c.Observer.Snapshot().Guests[g.VMID]; g == nil || g.Config == nil {
		return errors.New("the machine went away")
	}
	if g.Status != model.StatusRunning {
		start := fmt.Sprintf("proxplane power on %d", g.VMID)
		if c.Namespace != "" {
			start = "powerState: On in its object"
		}
		return ui.Advise(fmt.Errorf("VM %d is %s", g.VMID, g.Status), "Start it: "+start)
	}
	if g.Config.Options[port] == "" {
		return ui.Advise(fmt.Errorf("VM %d has no serial port %s", g.VMID, port),
			fmt.Sprintf("Add it: extraConfig: {%s: socket} in the manifest, or qm set %d --%s socket. The guest must use it, too (console=ttyS0).", port, g.VMID, port))
	}
	t, err := c.VM(g).Attach(ctx, port)
	if err != nil {
		return c.Fail(err)
	}
	defer t.Close()
	fmt.Fprintf(u.Err, "Attached to %s of %s (%d). Ctrl-] or Ctrl-O leaves; Enter shows a prompt.\n", port, g.Name, g.VMID)
	err = converse(ctx, u, t)
	fmt.Fprintf(u.Err, "\nLeft %s.\n", g.Name)
	return c.Fail(err)
}

// leave are the keys that end it: Ctrl-], and Ctrl-O as in qm terminal.
var leave = []byte{0x1d, 0x0f}

// console is the far end of a terminal.
type console interface {
	io.ReadWriter
	Resize(columns, rows int) error
}

// converse passes on what is typed, and shows what comes back.
func converse(ctx context.Context, u *ui.UI, far console) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f, ok := ui.Terminal(u.In); ok {
		old, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(f.Fd()), old) }()
		follow := func() {
			if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
				_ = far.Resize(columns, rows)
			}
		}
		follow()
		onResize(ctx, follow)
	}
	done := make(chan error, 2)
	heard := make(chan struct{}, 1)
	go func() { done <- typing(ctx, far, u.In, heard) }()
	go func() {
		_, err := io.Copy(io.MultiWriter(ui.Raw(u.Out), hearing(heard)), far)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hearing is a writer that signals each write.
type hearing chan<- struct{}

func (h hearing) Write(b []byte) (int, error) {
	select {
	case h <- struct{}{}:
	default:
	}
	return len(b), nil
}

// afterInput is how long the far end may be silent after the end of the input.
const afterInput = 2 * time.Second

// typing passes on what is typed until a key says to leave. The end of the
// input isn't the end, since what comes back may still matter: it ends when the far end is
// silent.
func typing(ctx context.Context, far io.Writer, in io.Reader, heard <-chan struct{}) error {
	buffer := make([]byte, 4096)
	for {
		n, err := in.Read(buffer)
		typed := buffer[:n]
		at := slices.IndexFunc(typed, func(b byte) bool { return slices.Contains(leave, b) })
		if at >= 0 {
			typed = typed[:at]
		}
		if _, werr := far.Write(typed); werr != nil {
			return werr
		}
		switch {
		case at >= 0:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			for silent := false; !silent; {
				select {
				case <-heard:
				case <-time.After(afterInput):
					silent = true
				case <-ctx.Done():
					return nil
				}
			}
			return nil
		case err != nil:
			return err
		}
	}
}
