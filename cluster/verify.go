package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// Finding is the result of a check.
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
	// Quick skips the checks that need test pods.
	Quick bool
	// File is compared with what was applied last; nil: there is none to compare.
	File *File
	// Report gets each finding as soon as it is there; it may be nil.
	Report func(Finding)
}

// DefaultTestImage is what test pods run.
const DefaultTestImage = "docker.io/library/busybox:1.37"

// Verify checks a cluster, from machines to pods.
func (c *Cluster) Verify(ctx context.Context, v Verification) []Finding {
	s := &verifying{Cluster: c, Verification: v}
	for _, check := range []func(context.Context) Finding{
		s.machines, s.api, s.nodes, s.pods, s.etcd, s.vip, s.pressure, s.certificates, s.clocks, s.drift,
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
		case s.Members[at].Away:
			problems = append(problems, fmt.Sprintf("whether %s runs isn't known: its node %s doesn't answer", n.Name, s.Members[at].Guest.Node))
		case s.Members[at].Guest.Status != model.StatusRunning:
			problems = append(problems, n.Name+" is "+string(s.Members[at].Guest.Status))
		}
	}
	for _, m := range s.Members {
		if p := s.Record.File.Pool(m.Pool); p == nil || m.Index >= *p.Count { // such as after an interrupted scale
			problems = append(problems, fmt.Sprintf("%s is more than the file wants", m.Name))
		}
	}
	return wrong("machines", fmt.Sprintf("%d machines run", len(s.Members)), problems, "Make what is missing with: proxplane cluster replace NAME --cluster "+s.Name+"; start what is off with: proxplane power on NAME; remove what is too much with: proxplane cluster scale POOL=COUNT --cluster "+s.Name)
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
	return wrong("nodes", fmt.Sprintf("%d nodes are ready with %s", len(s.known), s.Record.Release.Version), problems, "Replace a machine that doesn't come back with: proxplane cluster replace NAME --cluster "+s.Name+"; finish an upgrade by running it again")
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
	return wrong("system pods", fmt.Sprintf("%d run", len(list)), problems, "Look at them with: kubectl -n kube-system describe pods")
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

// etcd counts members and those that vote, and has each control plane ask its own.
func (s *verifying) etcd(ctx context.Context) Finding {
	if !s.answer {
		return unasked("etcd")
	}
	members := s.members(s.known)
	var problems []string
	if want := *s.Record.File.Nodes.ControlPlane.Count; len(members) != want {
		problems = append(problems, fmt.Sprintf("%d members, not %d", len(members), want))
	}
	if n := working(members); n < len(members) {
		problems = append(problems, fmt.Sprintf("%d of %d members work, it takes %d", n, len(members), len(members)/2+1))
	}
	for _, m := range s.servers() {
		if !members[m.Name] {
			continue // it is counted above
		}
		if _, err := s.kubectl(ctx, m.Guest, "", "get", "--raw", "/readyz/etcd"); err != nil {
			problems = append(problems, fmt.Sprintf("the API server of %s doesn't reach it: %v", m.Name, err))
		}
	}
	return wrong("etcd", quorumText(members), problems, "Replace the control plane that is lost with: proxplane cluster replace NAME --cluster "+s.Name)
}

// Healthy reports whether all checks have passed.
func Healthy(list []Finding) bool {
	return !slices.ContainsFunc(list, func(f Finding) bool { return !f.OK && !f.Skipped })
}
