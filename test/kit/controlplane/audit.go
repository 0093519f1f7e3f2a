package controlplane

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// auditPolicy has it written down what service accounts do.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// Call is a request of a service account.
type Call struct {
	User                         string
	Verb                         string
	Group, Resource, Subresource string
	Namespace, Name              string
	Allowed                      bool
}

// Calls are the requests of service accounts so far.
func (p *Plane) Calls() ([]Call, error) {
	f, err := os.Open(p.file("audit.log"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Call
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb      string                    `json:"verb"`
			User      struct{ Username string } `json:"user"`
			ObjectRef struct {
				APIGroup, Resource, Subresource, Namespace, Name string
			} `json:"objectRef"`
			Annotations map[string]string `json:"annotations"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		o := e.ObjectRef
		list = append(list, Call{
			User: e.User.Username, Verb: e.Verb, Group: o.APIGroup, Resource: o.Resource, Subresource: o.Subresource,
			Namespace: o.Namespace, Name: o.Name, Allowed: e.Annotations["authorization.k8s.io/decision"] == "allow",
		})
	}
	return list, lines.Err()
}
