package cluster

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// Door is the name of this door in the proofs of ownership.
const Door = "cluster"

// Kinds of the objects that the door wants.
const (
	KindMachine = "Machine"
	KindImage   = "Image"
)

// Node is a machine of a cluster.
type Node struct {
	Name  string `json:"name" yaml:"name"`
	Pool  string `json:"pool" yaml:"pool"`
	Index int    `json:"index" yaml:"index"`
	First bool   `json:"first,omitempty" yaml:"first,omitempty"` // it makes the cluster that the others join
}

// Server reports whether it is a control plane.
func (n Node) Server() bool { return n.Pool == controlPool }

// Role returns the role in words.
func (n Node) Role() string {
	if n.Server() {
		return "control plane"
	}
	return "worker"
}

// Owner returns the owner of the machine.
func (n Node) Owner(cluster string) model.Owner {
	return model.Owner{Door: Door, Set: cluster, Key: model.Key{Kind: KindMachine, Name: n.Name}}
}

// imageOwner is whose the image of a cluster is.
func imageOwner(cluster string) model.Owner {
	return model.Owner{Door: Door, Set: cluster, Key: model.Key{Kind: KindImage, Name: cluster + "-image"}}
}

// NodesOf returns the machines that a file wants, control planes first.
func NodesOf(f *File) []Node {
	var list []Node
	for _, pool := range f.Pools() {
		for i := range *pool.Count {
			list = append(list, nodeOf(f, pool.Name, i))
		}
	}
	return list
}

func nodeOf(f *File, pool string, index int) Node {
	return Node{Name: fmt.Sprintf("%s-%s-%d", f.Name, pool, index), Pool: pool, Index: index, First: pool == controlPool && index == 0}
}
