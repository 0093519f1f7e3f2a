// Package simulator has the commands that start a simulated Proxmox.
package simulator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim"
)

// simFlags are the flags of `proxplane sim`.
type simFlags struct {
	listen, world, release, data, log string
	speed                             float64
	seed                              uint64
	qemu                              qemuFlags
	ssh                               sshFlags
}

// New returns the command `proxplane sim`.
func New() *cobra.Command {
	f := simFlags{}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run a simulated Proxmox VE cluster",
		Long: `Run a simulated Proxmox VE cluster until interrupted: the HTTPS API with tasks,
locks, permissions, storages and guests. Any Proxmox client can be pointed at it.

Without --world there are three nodes (pve1 to pve3), the storages local, local-lvm
and nfs, the bridges vmbr0 to vmbr2 and a template, ubuntu-22-template. Below /sim/
are the request log, the faults and the clock (see docs/simulator.md).

With --qemu, guests are real machines: their disks have bytes, they boot what is on
them, and their agents and consoles answer.

With --ssh, nodes can be logged in to: files that arrive by SFTP or scp in the folders
of storages are volumes, and the shell knows the programs that clients of Proxmox run.`,
		Example: `  proxplane sim
  proxplane sim --listen 127.0.0.1:0 --speed 10
  proxplane sim --world lab.yaml --pve 8.4 --data ./state --log requests.jsonl
  proxplane sim --world guests.yaml --qemu
  proxplane sim --ssh 127.0.0.1:2201 --ssh-keys ~/.ssh/id_ed25519.pub
  curl -k https://127.0.0.1:8006/api2/json/access/domains`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSim(cmd.Context(), f, cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8006", "`ADDRESS` to listen on; port 0 takes a free one")
	fs.StringVar(&f.world, "world", "", "YAML `FILE` with nodes, storages, guests and their behaviour")
	fs.StringVar(&f.release, "pve", "", "`RELEASE` of Proxmox VE: "+strings.Join(schema.Releases(), " or ")+" (default: the world's)")
	fs.Float64Var(&f.speed, "speed", 1, "how many `TIMES` as fast as real time things happen")
	fs.StringVar(&f.data, "data", "", "`FOLDER` that keeps the state across restarts")
	fs.StringVar(&f.log, "log", "", "`FILE` that gets a line of JSON for each request")
	f.qemu.add(fs)
	f.ssh.add(fs)
	fs.Uint64Var(&f.seed, "seed", 1, "`NUMBER` that chooses MACs, UUIDs and which requests faults hit")
	return cmd
}

func runSim(ctx context.Context, f simFlags, out io.Writer) (err error) {
	if err := f.ssh.check(); err != nil {
		return err
	}
	w, err := f.loadWorld()
	if err != nil {
		return err
	}
	opts := []pvesim.Option{pvesim.WithSeed(f.seed), pvesim.WithClock(pvesim.NewFastClock(f.speed)), pvesim.WithData(f.data)}
	if f.log != "" {
		file, err := os.OpenFile(f.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("--log: %w", err)
		}
		defer file.Close()
		opts = append(opts, pvesim.WithLog(file))
	}
	guests, err := f.qemu.start(f.data)
	if err != nil {
		return err
	}
	defer guests.close()
	opts = append(opts, guests.options()...)
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("--listen %s: %w", f.listen, err)
	}
	defer l.Close()
	cert, fingerprint, err := Certificate(f.data, f.listen)
	if err != nil {
		return fmt.Errorf("--data %s: certificate: %w", f.data, err)
	}
	sim, err := pvesim.New(w, opts...)
	if err != nil && f.world != "" {
		return fmt.Errorf("%s: %w", f.world, err)
	} else if err != nil {
		return err
	}
	defer func() {
		if cerr := sim.Close(); err == nil {
			err = cerr
		}
	}()
	sim.SetFingerprint(fingerprint)
	announce(out, sim, fingerprint)
	nodes, err := f.ssh.start(ctx, sim, f.data, guests.dial(sim), out)
	if err != nil {
		return err
	}
	defer nodes.close()
	// The last line means that requests are taken.
	fmt.Fprintf(out, "ready: https://%s\n", l.Addr())
	return sim.Serve(ctx, tls.NewListener(redirectListener{l}, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}), "")
}

func (f simFlags) loadWorld() (*pvesim.World, error) {
	if f.speed <= 0 {
		return nil, fmt.Errorf("--speed %v: must be more than 0", f.speed)
	}
	w := pvesim.DefaultWorld()
	if f.world != "" {
		var err error
		if w, err = pvesim.LoadWorld(f.world); err != nil {
			return nil, err
		}
	}
	if f.release != "" {
		if !slices.Contains(schema.Releases(), f.release) {
			return nil, fmt.Errorf("--pve %s: there are only %s", f.release, strings.Join(schema.Releases(), " and "))
		}
		w.Release = f.release
	}
	return w, nil
}

// announce says what is there.
func announce(out io.Writer, sim *pvesim.Sim, fingerprint string) {
	info := sim.Describe()
	fmt.Fprintf(out, "Simulated Proxmox VE %s\n", sim.Release())
	fmt.Fprintf(out, "  nodes        %s\n", strings.Join(info.Nodes, ", "))
	fmt.Fprintf(out, "  storages     %s\n", strings.Join(info.Storages, ", "))
	fmt.Fprintf(out, "  guests       %d\n", info.Guests)
	for _, u := range info.Users {
		fmt.Fprintf(out, "  user         %s\n", u)
	}
	fmt.Fprintf(out, "  fingerprint  %s\n", fingerprint)
}
