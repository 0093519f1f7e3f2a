package cluster

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// Finding is what a check found.
type Finding struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Skipped bool   `json:"skipped,omitempty"`
	Text    string `json:"text"`
	Do      string `json:"do,omitempty"` // what helps
}

// Verification is a run of checks.
type Verification struct {
	// Image is what test pods run: a shell with nslookup and wget.
	Image string
	// Quick leaves out what needs test pods.
	Quick bool
	Now   time.Time
	// Report gets each finding as soon as it is there; it may be nil.
	Report func(Finding)
}

// DefaultTestImage is what test pods run.
const DefaultTestImage = "docker.io/library/busybox:1.37"

// Verify checks a cluster, from machines to pods.
func (c *Cluster) Verify(ctx context.Context, v Verification) []Finding {
	s := &verifying{Cluster: c, Verification: v}
	for _, check := range []func(context.Context) Finding{
		s.machines, s.api, s.nodes, s.pods, s.etcd, s.vip, s.pressure, s.certificates, s.clocks,
	} {
		s.add(check(ctx))
	}
	s.inPods(ctx)
	return s.found
}

type verifying struct {
	*Cluster
	Verification
	found  []Finding
	known  map[string]corev1.Node
	answer bool // the API server answers
}

func (s *verifying) add(f Finding) {
	s.found = append(s.found, f)
	if s.Report != nil {
		s.Report(f)
	}
}

// wrong says what is wrong, or that nothing is.
func wrong(check, fine string, problems []string, do string) Finding {
	if len(problems) == 0 {
		return Finding{Check: check, OK: true, Text: fine}
	}
	return Finding{Check: check, Text: strings.Join(problems, "; "), Do: do}
}

// machines compares what the record wants with what Proxmox has.
func (s *verifying) machines(context.Context) Finding {
	var problems []string
	for _, n := range NodesOf(s.Record.File) {
		at := slices.IndexFunc(s.Members, func(m Member) bool { return m.Name == n.Name })
		switch {
		case at < 0:
			problems = append(problems, n.Name+" isn't there")
		case s.Members[at].Guest.Status != model.StatusRunning:
			problems = append(problems, n.Name+" is "+string(s.Members[at].Guest.Status))
		}
	}
	return wrong("machines", fmt.Sprintf("%d machines run", len(s.Members)), problems, "Make what is missing with: proxplane cluster init --config FILE; start what is off with: proxplane power on NAME")
}

// api asks the API server through the VIP.
func (s *verifying) api(ctx context.Context) Finding {
	_, err := s.ask(ctx, "--server", s.APIServer(), "get", "--raw", "/readyz")
	if err == nil {
		s.answer = true
		s.known, err = s.kubeNodes(ctx, "")
	}
	if err != nil {
		return Finding{Check: "api server", Text: fmt.Sprintf("%s: %v", s.APIServer(), err), Do: "Look at the control planes with: proxplane cluster status --cluster " + s.Name}
	}
	return Finding{Check: "api server", OK: true, Text: "answers at " + s.APIServer()}
}

// unasked is a check that needs an API server that isn't there.
func unasked(check string) Finding {
	return Finding{Check: check, Text: "not known: the API server doesn't answer"}
}

// nodes looks whether all are ready, and which version they run.
func (s *verifying) nodes(context.Context) Finding {
	if !s.answer {
		return unasked("nodes")
	}
	var problems []string
	for _, m := range s.Members {
		n, there := s.known[m.Name]
		switch {
		case !there:
			problems = append(problems, m.Name+" hasn't joined")
		case !has(n, string(corev1.NodeReady)):
			problems = append(problems, m.Name+" isn't ready")
		case n.Spec.Unschedulable:
			problems = append(problems, m.Name+" is cordoned")
		case n.Status.NodeInfo.KubeletVersion != s.Record.Release.Version:
			problems = append(problems, fmt.Sprintf("%s runs %s, not %s", m.Name, n.Status.NodeInfo.KubeletVersion, s.Record.Release.Version))
		}
	}
	for name := range s.known {
		if !slices.ContainsFunc(s.Members, func(m Member) bool { return m.Name == name }) {
			problems = append(problems, "node "+name+" has no machine in Proxmox")
		}
	}
	slices.Sort(problems)
	return wrong("nodes", fmt.Sprintf("%d nodes are ready with %s", len(s.known), s.Record.Release.Version), problems, "Replace a machine that doesn't come back with: proxplane cluster replace NAME; finish an upgrade by running it again")
}

// pods looks at what Kubernetes itself runs.
func (s *verifying) pods(ctx context.Context) Finding {
	if !s.answer {
		return unasked("system pods")
	}
	list, err := list[corev1.Pod](ctx, s.Cluster, "", "-n", "kube-system", "get", "pods")
	if err != nil {
		return Finding{Check: "system pods", Text: err.Error()}
	}
	var problems []string
	for _, p := range list {
		if p.Status.Phase != corev1.PodSucceeded && (p.Status.Phase != corev1.PodRunning || !podReady(p)) {
			problems = append(problems, fmt.Sprintf("%s is %s", p.Name, podState(p)))
		}
	}
	if len(list) == 0 {
		problems = []string{"there are none"}
	}
	return wrong("system pods", fmt.Sprintf("%d run", len(list)), problems, "")
}

func podReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podState says why a pod isn't ready.
func podState(p corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return w.Reason
		}
	}
	if p.Status.Phase == corev1.PodRunning {
		return "not ready"
	}
	return string(p.Status.Phase)
}

// etcd counts members and those that vote.
func (s *verifying) etcd(context.Context) Finding {
	if !s.answer {
		return unasked("etcd")
	}
	members, healthy := quorum(s.known, "")
	var problems []string
	if want := *s.Record.File.Nodes.ControlPlane.Count; members != want {
		problems = append(problems, fmt.Sprintf("%d members, not %d", members, want))
	}
	if healthy < members {
		problems = append(problems, fmt.Sprintf("%d of %d members work, it takes %d", healthy, members, members/2+1))
	}
	return wrong("etcd", fmt.Sprintf("%d of %d members work; it takes %d", healthy, members, members/2+1), problems, "Replace the control plane that is lost with: proxplane cluster replace NAME")
}

// vip tells which control plane has the VIP.
func (s *verifying) vip(ctx context.Context) Finding {
	if !s.answer {
		return unasked("vip")
	}
	var lease struct {
		Spec struct {
			Holder string `json:"holderIdentity"`
		} `json:"spec"`
	}
	text, err := s.ask(ctx, "-n", "kube-system", "get", "lease", vipLease, "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &lease)
	}
	switch {
	case err != nil:
		return Finding{Check: "vip", Text: err.Error()}
	case lease.Spec.Holder == "":
		return Finding{Check: "vip", Text: "no control plane holds " + s.Record.File.Provider.VIP}
	}
	return Finding{Check: "vip", OK: true, Text: fmt.Sprintf("%s is held by %s", s.Record.File.Provider.VIP, lease.Spec.Holder)}
}

// pressure looks for nodes that run short.
func (s *verifying) pressure(context.Context) Finding {
	if !s.answer {
		return unasked("pressure")
	}
	var problems []string
	for name, n := range s.known {
		for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
			if has(n, string(kind)) {
				problems = append(problems, fmt.Sprintf("%s has %s", name, kind))
			}
		}
	}
	slices.Sort(problems)
	return wrong("pressure", "no node is short of memory, disk or processes", problems, "Give the pool more memory or disk in the file, and run: proxplane cluster init --config FILE --allow-restart")
}

// soon is how early it is said that a certificate expires.
const soon = 30 * 24 * time.Hour

// certificates reads when the API server's certificates expire.
func (s *verifying) certificates(ctx context.Context) Finding {
	var problems []string
	var first time.Time
	for _, m := range s.Members {
		if !m.Server() || m.Guest.Status != model.StatusRunning {
			continue
		}
		text, err := s.in.ReadFile(ctx, m.Guest, s.distribution().data("server/tls/serving-kube-apiserver.crt"))
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", m.Name, err))
			continue
		}
		block, _ := pem.Decode([]byte(text))
		if block == nil {
			problems = append(problems, m.Name+": its certificate can't be read")
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", m.Name, err))
			continue
		}
		if first.IsZero() || cert.NotAfter.Before(first) {
			first = cert.NotAfter
		}
		if cert.NotAfter.Before(s.Now.Add(soon)) {
			problems = append(problems, fmt.Sprintf("%s: its certificate expires on %s", m.Name, cert.NotAfter.Format(time.DateOnly)))
		}
	}
	return wrong("certificates", "valid until "+first.Format(time.DateOnly), problems, "They are renewed when the service restarts: proxplane cluster upgrade to the same version, or restart "+s.distribution().unit(true))
}

// clocks compares the clocks of the machines with each other.
func (s *verifying) clocks(ctx context.Context) Finding {
	const most = 5 * time.Second
	var least, highest time.Duration
	var problems []string
	seen := 0
	for _, m := range s.Members {
		if m.Guest.Status != model.StatusRunning {
			continue
		}
		began := time.Now()
		text, err := output(ctx, s.in, m.Guest, "", "date", "+%s")
		took := time.Since(began)
		seconds, bad := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err = errors.Join(err, bad); err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", m.Name, err))
			continue
		}
		off := time.Unix(seconds, 0).Sub(began.Add(took / 2))
		if seen++; seen == 1 {
			least, highest = off, off
		}
		least, highest = min(least, off), max(highest, off)
	}
	if apart := highest - least; apart > most {
		problems = append(problems, fmt.Sprintf("they are %s apart", apart.Round(time.Second)))
	}
	return wrong("clocks", fmt.Sprintf("within %s of each other", most), problems, "Have the machines reach a time server")
}

// Healthy reports whether nothing is wrong.
func Healthy(list []Finding) bool {
	return !slices.ContainsFunc(list, func(f Finding) bool { return !f.OK && !f.Skipped })
}
