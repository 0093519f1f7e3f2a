package operator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/sim"
)

// catalog is a class, a policy and images of another namespace than the story's.
func (s *story) catalog(with string) (namespace, manifests string) {
	namespace = s.namespace + "-base"
	return namespace, strings.NewReplacer("WITH", with, "SUM", sim.ImageSum()).Replace(`---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: golden}
spec: {cpus: 2, memory: 2Gi, sharedWith: [WITH]}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: first}
spec: {nodeSelector: [pve1], sharedWith: [WITH]}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template, sharedWith: [WITH]}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: debian}
spec: {url: "https://images.example/debian.qcow2", checksum: "SUM", sharedWith: [WITH]}
`)
}

// borrower is a machine that is made from what another namespace has.
func borrower(name, base, image string) string {
	return strings.NewReplacer("NAME", name, "BASE", base, "IMAGE", image).Replace(`---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: NAME}
spec:
  classRef: {name: golden, namespace: BASE}
  imageRef: {name: IMAGE, namespace: BASE}
  placementRef: {name: first, namespace: BASE}
  updatePolicy: {restart: Allow}
`)
}

// Classes, policies and images of one namespace serve others that they are shared with,
// and nobody else.
func TestClassesAndImagesAreSharedWithOtherNamespaces(t *testing.T) {
	t.Parallel()
	s := begin(t)
	base, nothing := s.catalog(`"elsewhere"`)
	s.kubectl("create", "namespace", base)
	s.operate("--alone", "--namespace", base)
	s.provide()
	// in runs kubectl there.
	in := func(input string, args ...string) string {
		t.Helper()
		return s.must(input, append(args, "-n", base)...)
	}
	s.apply(borrower("web", base, "ubuntu") + borrower("db", base, "debian"))
	const refused = `there is no VMClass golden in namespace \S+ that is shared with namespace`
	s.waits("vm/web", refused)
	missing := s.field("vm/web", ".status.waiting")
	in(nothing+"---\n"+s.pve.Provider("proxmox", "pve-credentials"), "apply", "-f", "-")
	in("", "wait", "--for=condition=Ready", "vmclass/golden", "--timeout", patience.String())
	s.kubectl("annotate", "vm", "web", "look=again")
	s.waits("vm/web", refused)
	if closed := s.field("vm/web", ".status.waiting"); closed != missing || strings.Contains(s.machines(), "web") || strings.Contains(s.machines(), "db") {
		t.Errorf("what isn't shared shows: %q instead of %q; there is %q", closed, missing, s.machines())
	}

	_, shared := s.catalog(`"` + s.namespace + `"`)
	in(shared, "apply", "-f", "-")
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db")
	if node, cores := s.field("vm/web", ".status.node"), s.conf("web", "cores"); node != "pve1" || cores != "2" {
		t.Errorf("web is on %s with %s CPUs", node, cores)
	}
	uses := func(object string) string { return in("", "get", object, "-o", "jsonpath={.status.machines}") }
	s.until("its users are counted", func() bool {
		return uses("vmclass/golden") == "2" && uses("vmimage/ubuntu") == "1" && uses("vmplacementpolicy/first") == "2"
	})

	// A change there reaches the machines here.
	in(strings.Replace(shared, "cpus: 2", "cpus: 4", 1), "apply", "-f", "-")
	s.until("the machines have 4 CPUs", func() bool { return s.conf("web", "cores") == "4" && s.conf("db", "cores") == "4" })

	// What is in use stays.
	in("", "delete", "vmclass/golden", "vmimage/ubuntu", "vmimage/debian", "--wait=false")
	waiting := func(object, text string) {
		t.Helper()
		s.until(object+" says "+text, func() bool { return strings.Contains(in("", "get", object, "-o", "jsonpath={.status.waiting}"), text) })
	}
	waiting("vmclass/golden", "2 machines use it; it goes when none does")
	waiting("vmimage/ubuntu", "1 machine uses it; it goes when none does")
	waiting("vmimage/debian", "1 machine uses it; it goes when none does")
	s.kubectl("delete", "vm", "web", "db", "--timeout", patience.String())
	s.until("what nobody uses any more is gone", func() bool {
		return in("", "get", "vmclass/golden", "vmimage/ubuntu", "vmimage/debian", "--ignore-not-found") == ""
	})
}

// An image is made on the nodes that machines of other namespaces are placed on, by the namespace that has it, and goes with it: fetched from its
// URL, or copied from the template that people made.
func TestAnImageIsMadeWhereMachinesOfOtherNamespacesGo(t *testing.T) {
	t.Parallel()
	s := begin(t, localDisks)
	base, shared := s.catalog(`"` + s.namespace + `"`)
	s.kubectl("create", "namespace", base)
	s.operate("--alone", "--namespace", base)
	s.provide()
	s.must(shared+"---\n"+s.pve.Provider("proxmox", "pve-credentials"), "apply", "-n", base, "-f", "-")
	s.apply(strings.Replace(apart("source: debian-12"), "imageRef: {name: img}", "imageRef: {name: debian, namespace: "+base+"}", 1))
	s.waitFor("--for=condition=Ready", "vm/web")
	if machines, templates := s.nodesOf(false), s.nodesOf(true); !slices.Equal(machines, []string{"pve1", "pve2", "pve3"}) || !slices.Equal(templates, machines) {
		t.Errorf("machines are on %v, templates on %v", machines, templates)
	}
	s.kubectl("delete", "vm/web", "--timeout", patience.String())
	s.kubectl("delete", "vmimage/debian", "-n", base, "--timeout", patience.String())
	if templates := s.nodesOf(true); len(templates) > 0 {
		t.Errorf("templates are left on %v", templates)
	}

	s.must(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: hand}
spec: {source: debian-12, sharedWith: ["`+s.namespace+`"]}
`, "apply", "-n", base, "-f", "-")
	s.apply(strings.Replace(apart("source: debian-12"), "imageRef: {name: img}", "imageRef: {name: hand, namespace: "+base+"}", 1))
	s.waitFor("--for=condition=Ready", "vm/web")
	if machines, copies := s.nodesOf(false), s.nodesOf(true); !slices.Equal(machines, []string{"pve1", "pve2", "pve3"}) || !slices.Equal(copies, []string{"pve2", "pve3"}) {
		t.Errorf("machines are on %v, copies of the template on %v", machines, copies)
	}
	s.kubectl("delete", "vm/web", "--timeout", patience.String())
	s.kubectl("delete", "vmimage/hand", "-n", base, "--timeout", patience.String())
	if copies := s.nodesOf(true); len(copies) > 0 {
		t.Errorf("copies are left on %v", copies)
	}
}

// Who takes a share back stops what is made by it, and nobody can hold it any more.
func TestAShareThatIsTakenBackIsNoMore(t *testing.T) {
	t.Parallel()
	s := begin(t)
	base, shared := s.catalog(`"` + s.namespace + `"`)
	s.kubectl("create", "namespace", base)
	s.operate("--alone", "--namespace", base)
	s.provide()
	s.must(shared, "apply", "-f", "-", "-n", base)
	s.apply(borrower("web", base, "ubuntu"))
	s.waitFor("--for=condition=Ready", "vm/web")
	_, closed := s.catalog(`"elsewhere"`)
	s.must(closed, "apply", "-f", "-", "-n", base)
	s.waits("vm/web", "that is shared with namespace")
	if s.machines() != "web" {
		t.Errorf("there is %q", s.machines())
	}
	s.kubectl("delete", "vmclass/golden", "-n", base, "--timeout", patience.String())
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	if s.machines() != "" {
		t.Errorf("there is still %q", s.machines())
	}
}

// What another cluster name looks after isn't used by new objects, and nothing else of the same name is taken
// for it.
func TestWhatAnotherClusterNameHasIsNotUsed(t *testing.T) {
	t.Parallel()
	s := begin(t)
	base, shared := s.catalog(`"` + s.namespace + `"`)
	s.kubectl("create", "namespace", base)
	first := s.operate("--alone", "--namespace", base, "--cluster-name", "east")
	s.provide()
	s.must(shared+"---\n"+s.pve.Provider("proxmox", "pve-credentials"), "apply", "-n", base, "-f", "-")
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("wait", "-n", base, "--for=condition=Ready", "vmimage/ubuntu", "--timeout", patience.String())
	first.Stop()

	s.operate("--alone", "--namespace", base, "--cluster-name", "west")
	s.kubectl("annotate", "provider", "proxmox", "infra.virtrigaud.io/taken-over-by=west") // and nothing that was made on it
	s.apply(borrower("shop", base, "ubuntu") + `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: twin}
spec: {sourceVMRef: {name: web}}
`)
	const east = "can't be used: the object belongs to the Kubernetes named east, and the operator runs for west"
	s.waits("vm/shop", "VMImage "+base+"/ubuntu "+east)
	s.waits("vmclone/twin", "VirtualMachine "+s.namespace+"/web "+east)
	if s.machines() != "web" {
		t.Fatalf("there is %s", s.machines())
	}
	for _, namespace := range []string{s.namespace, base} {
		s.kubectl("annotate", "-n", namespace, "--overwrite", "virtrigaud", "--all", "infra.virtrigaud.io/taken-over-by=west")
	}
	s.waitFor("--for=condition=Ready", "vm/web", "vm/shop", "vmclone/twin")
}
