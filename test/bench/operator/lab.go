package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// lab is a Kubernetes to measure with.
type lab struct {
	program, dir string
	profiles     string
	plane        *controlplane.Plane
	kube         client.Client // with nothing cached
}

func newLab(ctx context.Context, program, dir, profiles string) (*lab, error) {
	plane, err := controlplane.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	l := &lab{program: program, dir: dir, profiles: profiles, plane: plane}
	if err := l.prepare(ctx); err != nil {
		plane.Stop()
		return nil, err
	}
	return l, nil
}

func (l *lab) prepare(ctx context.Context) error {
	if err := l.plane.Define(ctx, "deploy/crds"); err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", l.plane.Kubeconfig)
	if err != nil {
		return err
	}
	cfg.QPS = -1
	l.kube, err = client.New(cfg, client.Options{Scheme: kube.Scheme()})
	return err
}

// part is a namespace with a Proxmox and an operator of its own.
type part struct {
	*lab
	name     string
	sim      *outside.Sim
	operator *outside.Process
	metrics  string // where the operator tells what it has done
	profiler string
}

// begin starts a part; its Proxmox serves so many clones at a time on each storage.
func (l *lab) begin(ctx context.Context, name string, places int) (*part, error) {
	p := &part{lab: l, name: name}
	var err error
	if p.sim, err = world.Start(ctx, l.program, l.dir, world.YAML, places); err != nil {
		return nil, err
	}
	if err = p.startOperator(ctx); err == nil {
		err = p.provide(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// startOperator starts the operator, and waits until it can be asked.
func (p *part) startOperator(ctx context.Context) error {
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return err
	}
	listen, profiler := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	p.metrics, p.profiler = "http://"+listen+"/metrics", "http://"+profiler+"/debug/pprof/"
	args := []string{"operator", "--alone", "--namespace", p.name, "--metrics-address", listen, "--health-address", "", "--log-level", "warn"}
	if p.profiles != "" {
		args = append(args, "--profiler-address", profiler)
	}
	p.operator, err = outside.Start(ctx, outside.Command{Program: p.program, Args: args, Env: []string{"KUBECONFIG=" + p.plane.Kubeconfig}})
	if err != nil {
		return err
	}
	return p.until(ctx, "the operator answers", func() (bool, error) {
		_, err := p.read(ctx)
		return err == nil, nil
	})
}

// stopOperator lets the operator end.
func (p *part) stopOperator() error {
	if p.operator == nil {
		return nil
	}
	if err := p.operator.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if r := p.operator.Wait(); r.Code != 0 {
		return fmt.Errorf("the operator: %v", r)
	}
	return nil
}

// end stops what was started.
func (p *part) end() error { return errors.Join(p.stopOperator(), p.sim.Stop()) }

// profile writes down where the operator's memory and time go, if that is wanted.
func (p *part) profile(ctx context.Context, moment string) error {
	if p.profiles == "" {
		return nil
	}
	for _, kind := range []string{"heap", "profile?seconds=20"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.profiler+kind, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.profiles, p.name+"-"+moment+"-"+kind[:4]+".pprof"), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
