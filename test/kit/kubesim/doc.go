// Package kubesim is as much of a Kubernetes API as the operator needs, in one process
// and without a network, so that it can run in virtual time: lists, watches, merge
// patches, the status subresource, finalizers, generations and conflicts. It validates
// nothing and knows no permissions: test/operator has the real one for that.
package kubesim
