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
	return wrong("certificates", "valid until "+first.Format(time.DateOnly), problems, "Renew them with: proxplane cluster rotate --cluster "+s.Name)
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
