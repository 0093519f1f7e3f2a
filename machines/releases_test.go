package machines

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/util/version"
)

// published is where kubelets are published; no kubelets: it can't be reached.
type published struct {
	kubelets map[string]bool
	asked    int
}

func (p *published) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked++
	if p.kubelets == nil {
		return nil, errors.New("no such host")
	}
	status := http.StatusNotFound
	if name, ok := strings.CutPrefix(r.URL.String(), "https://releases.test/"); ok && r.Method == http.MethodHead && p.kubelets[strings.TrimSuffix(name, "/bin/linux/amd64/kubelet")] {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

func (l *lab) publishes(p *published) {
	l.releases = newReleases("https://releases.test")
	l.releases.http.Transport = p
}

func withKubelet(name, version string) *clusterv1alpha1.Machine {
	m := machineOf(name)
	m.Spec.Versions.Kubelet = version
	return m
}

// No machine is made for a kubelet that isn't published: it would never become a node. It is made by itself once there is one.
func TestAKubeletThatIsntPublishedIsRefused(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		p := &published{kubelets: map[string]bool{"v1.34.2": true}}
		l.publishes(p)
		l.add(withKubelet("md-1", "1.34.99"))
		m := l.until("md-1", "it is refused", inPhase(phaseFailed))
		if m.Status.ErrorReason == nil || *m.Status.ErrorReason != "InvalidConfiguration" || !strings.Contains(*m.Status.ErrorMessage, "there is no kubelet 1.34.99: https://releases.test/v1.34.99/bin/linux/amd64/kubelet doesn't exist") {
			t.Errorf("%+v", m.Status)
		}
		if !l.warned("there is no kubelet 1.34.99") {
			t.Error("there is no event")
		}
		if len(m.Finalizers) > 0 || len(l.vms()) > 0 || len(l.volumes("iso/")) > 0 {
			t.Errorf("left are %v %v %v", m.Finalizers, l.vms(), l.volumes("iso/"))
		}
		for _, name := range []string{"md-2", "md-3"} {
			l.add(withKubelet(name, "1.34.99"))
			l.until(name, "it is refused", inPhase(phaseFailed))
		}
		if p.asked != 1 {
			t.Errorf("it was asked %d times for the same", p.asked)
		}
		p.kubelets["v1.34.99"] = true
		m = l.until("md-1", "it is made", inPhase(phaseJoining))
		if m.Status.ErrorReason != nil {
			t.Errorf("%s", *m.Status.ErrorMessage)
		}
	})
}

// Where the Internet can't be asked, and where it isn't to be asked, machines are made.
func TestWhereNobodyKnowsWhichKubeletsThereAre(t *testing.T) {
	elsewhere := &published{}
	for name, r := range map[string]*releases{"nowhere": newReleases(""), "unreachable": newReleases("https://releases.test")} {
		r.http.Transport, r.now = elsewhere, time.Now
		if at := r.missing(t.Context(), version.MustParseSemantic("1.34.99")); at != "" {
			t.Errorf("%s: %s", name, at)
		}
	}
	if elsewhere.asked != 1 {
		t.Errorf("it was asked %d times", elsewhere.asked)
	}
	known := newReleases("https://releases.test")
	known.http.Transport = &published{kubelets: map[string]bool{"v1.34.2": true}}
	for text, missing := range map[string]bool{"1.34.2": false, "1.34.2+k3s1": false, "1.34.99+k3s1": true, "1.34.2-eks-1": false} {
		if at := known.missing(t.Context(), version.MustParseSemantic(text)); (at != "") != missing {
			t.Errorf("%s: %q", text, at)
		}
	}
}
