package machines

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
)

// Role has the privileges that a token needs for MachineDeployments.
type Role struct {
	Release  int    // major version of Proxmox
	Token    string // USER@REALM!NAME of the token that it is for
	Grants   []privileges.Grant
	Copies   []privileges.Grant // further ones where a template is on local storage, and copied to other nodes
	Commands []string           // for a shell on a node
	Page     []PagePrivilege
}

// PagePrivilege is a privilege of the original's page, with what is true of it.
type PagePrivilege struct {
	Name   string
	Needed bool
	Why    string
}

// page are the privileges that the original asks for.
var page = []string{
	"Datastore.AllocateSpace", "Pool.Allocate", "Pool.Audit", "VM.Allocate", "VM.Audit", "VM.Clone", "VM.Config.CDROM", "VM.Config.CPU", "VM.Config.Cloudinit",
	"VM.Config.Disk", "VM.Config.HWType", "VM.Config.Memory", "VM.Config.Network", "VM.Config.Options", "VM.Monitor", "Sys.Audit", "Sys.Console",
}

// DefaultToken is the token of a role where MachineDeployments have its name from elsewhere.
const DefaultToken = "machines@pve!proxplane"

func isToken(text string) bool {
	user, name, _ := strings.Cut(text, "!")
	return name != "" && strings.Contains(user, "@")
}

// agentSince is the release from which on agents have privileges of their own.
const agentSince = 9

// RoleOf computes the least privileges that the MachineDeployments in a text need on a release of Proxmox, and the
// commands that grant them to a token USER@REALM!NAME; empty: the one that they name, or else [DefaultToken].
func RoleOf(text []byte, release int, token string) (Role, error) {
	want, named, err := wantedOf(text)
	if err != nil {
		return Role{}, err
	}
	token = cmp.Or(token, named, DefaultToken)
	needs, err := privileges.For(want, privileges.Facts{Release: release})
	if err != nil {
		return Role{}, err
	}
	user, name, _ := strings.Cut(token, "!")
	account := privileges.Account{User: user, Token: name, NewUser: true, NewToken: true}
	out := Role{Release: release, Token: token, Grants: needs.Grants, Commands: account.Commands(needs.Grants)}
	with, err := privileges.For(want, privileges.Facts{Release: release, Apart: true})
	if err != nil {
		return Role{}, err
	}
	out.Copies = further(with.Grants, needs.Grants)
	for _, priv := range page {
		out.Page = append(out.Page, judged(priv, release, needs.Grants))
	}
	return out, nil
}

// further is what some grants have that others haven't, there or above.
func further(all, have []privileges.Grant) (more []privileges.Grant) {
	has := func(path, priv string) bool {
		return slices.ContainsFunc(have, func(g privileges.Grant) bool {
			return (g.Path == path || g.Below && strings.HasPrefix(path, g.Path+"/")) && slices.Contains(g.Names(), priv)
		})
	}
	for _, g := range all {
		path := g.Path
		g.Privs = slices.DeleteFunc(slices.Clone(g.Privs), func(p privileges.Priv) bool { return has(path, p.Name) })
		if len(g.Privs) > 0 {
			more = append(more, g)
		}
	}
	return more
}

// judged says what is true of a privilege of the page.
func judged(priv string, release int, grants []privileges.Grant) PagePrivilege {
	p := PagePrivilege{Name: priv}
	for _, g := range grants {
		for _, have := range g.Privs {
			if have.Name == priv {
				p.Needed = true
				p.Why = "on " + g.Path + ": " + strings.Join(have.For, ", ")
			}
		}
	}
	switch {
	case p.Needed:
	case priv == "VM.Monitor" && release >= agentSince:
		p.Why = "Proxmox VE 9 has no such privilege, and refuses a role with it; VM.GuestAgent.Audit is for the guest agent"
	case priv == "Pool.Allocate":
		p.Why = "isn't needed: machines are cloned into their pool, which VM.Allocate on the pool allows"
	case priv == "Pool.Audit":
		p.Why = "is for machines in a pool (cloudProviderSpec.pool)"
	case priv == "Sys.Console":
		p.Why = "is for HA (cloudProviderSpec.ha)"
	default:
		p.Why = "isn't needed for these machines"
	}
	return p
}

// wantedOf are the machines of all MachineDeployments, MachineSets and Machines in a text, one of each, and the first token that one of them names itself.
func wantedOf(text []byte) (want model.Desired, token string, err error) {
	want = model.Desired{Door: Door, Set: "role"}
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text)+1)
	for {
		var o struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Spec struct {
				clusterv1alpha1.MachineSpec `json:",inline"`
				Template                    clusterv1alpha1.MachineTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if err := docs.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return want, "", err
		}
		of := o.Spec.Template.Spec.ProviderSpec
		switch o.Kind {
		case "MachineDeployment", "MachineSet":
		case Kind:
			of = o.Spec.ProviderSpec
		default:
			continue
		}
		if of.Value == nil {
			return want, "", fmt.Errorf("%s %s: providerSpec.value is missing", o.Kind, o.Metadata.Name)
		}
		v, err := providerspec.Decode(of.Value.Raw)
		if err != nil {
			return want, "", fmt.Errorf("%s %s: %w", o.Kind, o.Metadata.Name, err)
		}
		if user := v.CloudProviderSpec.UserID; token == "" && user != nil && isToken(user.Value) {
			token = user.Value
		}
		owner := model.Owner{Door: Door, Set: want.Set, Key: model.Key{Kind: Kind, Name: o.Metadata.Name}}
		vm, image, err := v.Machine(providerspec.Want{Owner: owner, Name: o.Metadata.Name, UserData: "#cloud-config\n{}\n"})
		if err != nil {
			return want, "", fmt.Errorf("%s %s: %w", o.Kind, o.Metadata.Name, err)
		}
		want.VMs = append(want.VMs, vm)
		if !slices.ContainsFunc(want.Images, func(i model.Image) bool { return i.Owner == image.Owner }) {
			want.Images = append(want.Images, *image)
		}
	}
	if len(want.VMs) == 0 {
		return want, "", errors.New("there is no MachineDeployment in it")
	}
	return want, token, nil
}
