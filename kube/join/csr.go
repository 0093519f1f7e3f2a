package join

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certv1 "k8s.io/api/certificates/v1"
)

// Who asks for certificates, and what they are for.
const (
	bootstrapUser  = "system:bootstrap:"
	bootstrapGroup = "system:bootstrappers"
	nodeUser       = "system:node:"
	nodeGroup      = "system:nodes"
)

// Request is a kubelet's certificate request, as far as it may be one of ours.
type Request struct {
	Node    string // name of the Node, present or future
	Token   string // ID of the requester's bootstrap token; empty: the requester is a node
	Serving bool   // else it is a client certificate

	csr  *certv1.CertificateSigningRequest
	x509 *x509.CertificateRequest
}

// Answer is the decision about a request.
type Answer int

// The answers.
const (
	Ignore  Answer = iota // it isn't from one of our machines: left to other approvers
	Wait                  // undecided: a machine or an address may not be known yet
	Approve               // it is approved
	Deny                  // it is denied: it is from one of our machines, for another identity
)

// Verdict is an answer with its reason.
type Verdict struct {
	Answer Answer
	Why    string
}

// Read parses the requester and the node. It returns nil if the request isn't a kubelet's.
func Read(csr *certv1.CertificateSigningRequest) *Request {
	r := &Request{csr: csr}
	switch csr.Spec.SignerName {
	case certv1.KubeletServingSignerName:
		r.Serving = true
	case certv1.KubeAPIServerClientKubeletSignerName:
	default:
		return nil
	}
	user, groups := csr.Spec.Username, csr.Spec.Groups
	if id, ok := strings.CutPrefix(user, bootstrapUser); ok && slices.Contains(groups, bootstrapGroup) && !r.Serving {
		r.Token = id
	} else if name, ok := strings.CutPrefix(user, nodeUser); ok && slices.Contains(groups, nodeGroup) {
		r.Node = name
	} else {
		return nil
	}
	var err error
	if r.x509, err = parse(csr.Spec.Request); err != nil {
		return nil // the API server takes no such requests
	}
	if r.Node == "" {
		r.Node = strings.TrimPrefix(r.x509.Subject.CommonName, nodeUser)
	}
	return r
}

func parse(text []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("no certificate request in PEM")
	}
	r, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return r, r.CheckSignature()
}

// Judge decides about the request. machine is the one whose Node has the requested name; nil: there is
// none. owner is the machine that the requester's token was made for; nil: the token isn't ours.
func (r *Request) Judge(machine, owner *Machine) Verdict {
	if r.Token != "" {
		switch {
		case owner == nil:
			return Verdict{Ignore, "the bootstrap token isn't one of ours"}
		case owner.Node != r.Node || machine != nil && machine.ID != owner.ID:
			return Verdict{Deny, fmt.Sprintf("bootstrap token %s is that of another machine than node %q", r.Token, r.Node)}
		case machine == nil:
			return Verdict{Wait, fmt.Sprintf("the machine of node %s isn't known yet", r.Node)}
		}
	} else if machine == nil {
		return Verdict{Ignore, "the node isn't a machine of ours"}
	}
	if why := r.wrongForm(); why != "" {
		return Verdict{Deny, why}
	}
	if !r.Serving {
		return Verdict{Approve, "client certificate of node " + r.Node + ", asked for with its own credentials"}
	}
	return r.judgeNames(machine)
}

// wrongForm says what no certificate of this kind has; empty: nothing.
func (r *Request) wrongForm() string {
	subject := r.x509.Subject
	switch {
	case subject.CommonName != nodeUser+r.Node:
		return fmt.Sprintf("the common name is %q and not %q", subject.CommonName, nodeUser+r.Node)
	case !slices.Equal(subject.Organization, []string{nodeGroup}):
		return fmt.Sprintf("the organization is %q and not %q", subject.Organization, nodeGroup)
	case len(r.x509.EmailAddresses) > 0 || len(r.x509.URIs) > 0:
		return "it has e-mail addresses or URIs"
	case !r.Serving && len(r.x509.DNSNames)+len(r.x509.IPAddresses) > 0:
		return "a client certificate has no names and no addresses"
	case r.Serving && len(r.x509.DNSNames)+len(r.x509.IPAddresses) == 0:
		return "a serving certificate has names or addresses"
	}
	return r.wrongUsages()
}

// wrongUsages says which usages a kubelet doesn't ask for; empty: all are right.
func (r *Request) wrongUsages() string {
	purpose := certv1.UsageClientAuth
	if r.Serving {
		purpose = certv1.UsageServerAuth
	}
	need := []certv1.KeyUsage{certv1.UsageDigitalSignature, purpose}
	may := append([]certv1.KeyUsage{certv1.UsageKeyEncipherment}, need...) // kubelets with RSA keys ask for it, too
	for _, u := range need {
		if !slices.Contains(r.csr.Spec.Usages, u) {
			return fmt.Sprintf("the usage %q is missing", u)
		}
	}
	for _, u := range r.csr.Spec.Usages {
		if !slices.Contains(may, u) {
			return fmt.Sprintf("the usage %q isn't one of such a certificate", u)
		}
	}
	return ""
}

// judgeNames decides about the names and addresses of a serving certificate.
func (r *Request) judgeNames(m *Machine) Verdict {
	for _, name := range r.x509.DNSNames {
		if !m.hasName(name) {
			return Verdict{Deny, fmt.Sprintf("the name %q isn't that of node %s", name, m.Node)}
		}
	}
	for _, ip := range r.x509.IPAddresses {
		a, ok := netip.AddrFromSlice(ip)
		if !ok || !m.hasAddress(a) {
			return Verdict{Wait, fmt.Sprintf("the address %s isn't one that Proxmox reports for node %s", ip, m.Node)}
		}
	}
	return Verdict{Approve, "serving certificate of node " + m.Node + ", with its own names and addresses"}
}
