package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// vip says which control plane has the VIP: who has the lease, and has the address.
func (s *verifying) vip(ctx context.Context) Finding {
	if !s.answer {
		return unasked("vip")
	}
	const do = "Look at kube-vip with: kubectl -n kube-system logs kube-vip-NAME"
	vip := s.Record.File.Provider.VIP
	fail := func(format string, args ...any) Finding {
		return Finding{Check: "vip", Text: fmt.Sprintf(format, args...), Do: do}
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
		return fail("%v", err)
	case lease.Spec.Holder == "":
		return fail("no control plane holds %s", vip)
	}
	m, err := s.Member(lease.Spec.Holder)
	switch {
	case err != nil:
		return fail("%s is held by %s, which is no machine of this cluster", vip, lease.Spec.Holder)
	case m.Guest.Status != model.StatusRunning:
		return fail("%s is said to be held by %s, which is %s", vip, m.Name, m.Guest.Status)
	}
	addresses, err := output(ctx, s.in, m.Guest, "", "ip", "-o", "addr")
	switch {
	case err != nil:
		return fail("whether %s has %s isn't known: %v", m.Name, vip, err)
	case !strings.Contains(addresses, " "+vip+"/"):
		return fail("%s is said to hold %s, and doesn't have that address", m.Name, vip)
	}
	return Finding{Check: "vip", OK: true, Text: fmt.Sprintf("%s is held by %s", vip, m.Name)}
}

// pressure looks for nodes that run short.
func (s *verifying) pressure(context.Context) Finding {
	if !s.answer {
		return unasked("pressure")
	}
	var problems []string
	for name, n := range s.known {
		for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
			at := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
			switch {
			case at < 0 || n.Status.Conditions[at].Status == corev1.ConditionUnknown:
				problems = append(problems, fmt.Sprintf("whether %s has %s isn't known", name, kind))
			case n.Status.Conditions[at].Status == corev1.ConditionTrue:
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
		if !m.Server() {
			continue
		}
		if m.Guest.Status != model.StatusRunning {
			problems = append(problems, fmt.Sprintf("those of %s aren't known: it is %s", m.Name, m.Guest.Status))
			continue
		}
		until, now, err := s.validUntil(ctx, &m)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if first.IsZero() || until.Before(first) {
			first = until
		}
		switch day := until.Format(time.DateOnly); {
		case until.Before(now):
			problems = append(problems, fmt.Sprintf("%s: its certificate has expired on %s", m.Name, day))
		case until.Before(now.Add(soon)):
			problems = append(problems, fmt.Sprintf("%s: its certificate expires on %s", m.Name, day))
		}
	}
	return wrong("certificates", "valid until "+first.Format(time.DateOnly), problems, "Start machines that are off with: proxplane power on NAME; renew certificates with: proxplane cluster rotate --cluster "+s.Name)
}

// clocks compares the clocks of the machines with each other.
func (s *verifying) clocks(ctx context.Context) Finding {
	const most = 5 * time.Second
	var least, highest time.Duration
	var problems []string
	seen := 0
	for _, m := range s.Members {
		if m.Guest.Status != model.StatusRunning {
			problems = append(problems, fmt.Sprintf("that of %s isn't known: it is %s", m.Name, m.Guest.Status))
			continue
		}
		began := time.Now()
		now, err := s.clock(ctx, &m)
		took := time.Since(began)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		off := now.Sub(began.Add(took / 2))
		if seen++; seen == 1 {
			least, highest = off, off
		}
		least, highest = min(least, off), max(highest, off)
	}
	if apart := highest - least; apart > most {
		problems = append(problems, fmt.Sprintf("they are %s apart", apart.Round(time.Second)))
	}
	return wrong("clocks", fmt.Sprintf("within %s of each other", most), problems, "Start machines that are off with: proxplane power on NAME; have all of them reach a time server")
}
