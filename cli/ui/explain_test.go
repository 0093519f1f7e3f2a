package ui

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// connectionError is an error of a read without an answer.
func connectionError(cause error) error {
	return fmt.Errorf("list what the cluster has: %w", &pve.Error{
		Kind: pve.ErrConnection, Method: "GET", Path: "/cluster/resources", Text: cause.Error(), Err: cause,
	})
}

// distrusted is an error about the certificate that a server shows.
func distrusted(err error, cert *x509.Certificate) error {
	return &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{cert}, Err: err}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	yesterday := time.Date(2020, 1, 2, 3, 4, 0, 0, time.UTC)
	named := &x509.Certificate{DNSNames: []string{"pve1.example.com", "pve1"}, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}}
	token := manifest.Connection{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Token("ci@pve!proxplane", "very-secret-secret")}
	password := manifest.Connection{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "very-secret-password")}
	at := func(c manifest.Connection, err error) error { return &SiteError{Conn: c, Err: err} }
	var b strings.Builder
	for _, c := range []struct {
		name string
		err  error
	}{
		{"a plain error", errors.New("--speed -1: must be more than 0")},
		{"advice", Advise(errors.New("no manifests are given"), "Name them with -f.", "")},
		{"manifests", fmt.Errorf("read: %w", manifest.Errors{
			{File: "web.yaml", Line: 3, Object: model.Key{Kind: "VirtualMachine", Name: "web"}, Field: "spec.powerstate", Text: "isn't known; did you mean powerState?"},
			{File: "web.yaml", Line: 9, Text: "kind is missing"},
		})},
		{"a privilege is missing", at(token, fmt.Errorf("clone 9000 on pve1 to 101 on pve1: %w", &pve.Error{
			Kind: pve.ErrForbidden, Method: "POST", Path: "/nodes/pve1/qemu/9000/clone", Status: 403,
			Text: "Permission check failed (/vms/9000, VM.Clone)", PermPath: "/vms/9000", Privs: []string{"VM.Clone"},
		}))},
		{"one of two privileges is missing", at(password, &pve.Error{
			Kind: pve.ErrForbidden, Method: "GET", Path: "/nodes/pve1/qemu/100/config", Status: 403,
			Text: "Permission check failed (/vms/100, VM.Audit|VM.Config.Disk)", PermPath: "/vms/100", Privs: []string{"VM.Audit", "VM.Config.Disk"}, AnyPriv: true,
		})},
		{"a wrong token", at(token, fmt.Errorf("list what the cluster has: %w", &pve.Error{Kind: pve.ErrUnauthorized, Method: "GET", Path: "/cluster/resources", Status: 401, Text: "invalid token value!"}))},
		{"a wrong password", at(password, &pve.Error{Kind: pve.ErrUnauthorized, Method: "POST", Path: "/access/ticket", Status: 401, Text: "authentication failure"})},
		{"nobody listens", at(token, connectionError(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}))},
		{"no such name", at(token, connectionError(&net.DNSError{Err: "no such host", Name: "pve1"}))},
		{"not TLS", at(token, connectionError(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}))},
		{"untrusted", at(token, connectionError(&tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{{Raw: []byte("certificate")}}, Err: x509.UnknownAuthorityError{}}))},
		{"another certificate", at(token, connectionError(&pve.FingerprintError{Got: "AA:BB"}))},
		{"expired", at(token, connectionError(distrusted(x509.CertificateInvalidError{Reason: x509.Expired}, &x509.Certificate{NotAfter: yesterday})))},
		{"for another name", at(token, connectionError(distrusted(x509.HostnameError{Certificate: named, Host: "pve1"}, named)))},
		{"a login without an answer", at(password, fmt.Errorf("list what the cluster has: %w", &pve.LoginError{User: "root@pam", Err: &pve.Error{
			Kind: pve.ErrConnection, Method: "POST", Path: "/access/ticket", Text: "refused", Err: syscall.ECONNREFUSED}}))},
		{"sent elsewhere", at(password, &pve.LoginError{User: "root@pam", Err: &pve.Error{Method: "POST", Path: "/access/ticket", Status: 308, Text: "Permanent Redirect"}})},
		{"not Proxmox", at(password, &pve.LoginError{User: "root@pam", Err: &pve.Error{Method: "POST", Path: "/access/ticket", Status: 404, Text: "Not Found"}})},
		{"full", at(token, fmt.Errorf("grow scsi0 of VM 100 on pve1: %w", &pve.Error{Kind: pve.ErrNoSpace, Method: "PUT", Path: "/nodes/pve1/qemu/100/resize", Status: 500, Text: "no space left on device"}))},
		{"locked", at(token, fmt.Errorf("start VM 100: %w", &pve.Error{Kind: pve.ErrLocked, Method: "POST", Path: "/nodes/pve1/qemu/100/status/start", Status: 500, Text: "VM is locked (backup)", Lock: "backup"}))},
		{"time is over", Lateness(fmt.Errorf("converge: %w", &TimeoutError{600e9}))},
	} {
		fmt.Fprintf(&b, "# %s\n%s\n", c.name, explain(c.err).text(status.Page{Width: 100}))
	}
	got := b.String()
	golden.Compare(t, "errors.txt", got)
	if strings.Contains(got, "very-secret") {
		t.Error("a secret is told")
	}
}
