package karpenter

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

// A machine that a process before this one has begun is finished, and the template that has another image by now stays as it is wanted now.
func TestAMachineThatWasBegunDoesntTakeATemplateBack(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		l.settle()
		l.regions.close()
		ctx, end := l.process(0, false)
		c := l.claim("default-7xk2p")
		made, err := l.Create(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		l.launched(c, made)
		end() // before the machine runs

		o := l.template()
		o.Spec.SourceImage.URL, o.Generation = "http://127.0.0.1:1/new/noble-server-cloudimg-amd64.img", 2
		if err := l.client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		_, end = l.process(0, false)
		defer end()
		before := l.template().Status.ImageID
		for range 60 {
			if l.settle(); l.template().Status.ImageID != before {
				break
			}
			time.Sleep(10 * time.Second)
		}
		k := &keeper{client: l.client, provider: l.CloudProvider}
		if _, err := k.Reconcile(t.Context(), request(c.Name)); err != nil {
			t.Fatal(err)
		}
		for _, i := range l.regions.all["lab"].Site.Desired().Images {
			if i.URL != o.Spec.SourceImage.URL {
				t.Errorf("the image is wanted from %s", i.URL)
			}
		}
		if _, err := l.regions.all["lab"].Site.Await(t.Context(), l.ownerOf(c), site.Running); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if wait := l.template().Status; wait.ImageID == before {
			t.Errorf("the template has gone back: %+v", wait)
		}
		l.sim.Do(func(s *pvesim.State) {
			for id, vm := range s.VMs {
				if vm.Name() == "default" && vm.Conf["template"] != "1" {
					t.Errorf("VM %d is left: %v", id, vm.Conf)
				}
			}
		})
	})
}

// A template that was deleted isn't made again for a machine that was begun from it: nobody would remove it then.
func TestAMachineThatWasBegunDoesntBringATemplateBack(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		l.settle()
		c := l.claim("default-7xk2p")
		made, err := l.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		l.launched(c, made)
		if err := l.client.Delete(t.Context(), l.template()); err != nil {
			t.Fatal(err)
		}
		r := l.regions.all["lab"]
		if err := l.put(t.Context(), r, c, l.class(), *asMade(c), l.placeOf(asMade(c)).size); err != nil {
			t.Fatal(err)
		}
		gone := &templates{client: l.client, regions: l.regions, set: l.set}
		if _, err := gone.Reconcile(t.Context(), request("default")); err != nil {
			t.Fatal(err)
		}
		if err := l.put(t.Context(), r, c, l.class(), *asMade(c), l.placeOf(asMade(c)).size); err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Site.Desired().Images {
			if !i.Deleted {
				t.Error("the template is wanted again")
			}
		}
	})
}

// fromURL wants the template from another URL.
func (l *lab) fromURL(url string) {
	l.t.Helper()
	o := l.template()
	o.Spec.SourceImage.URL, o.Spec.SourceImage.Checksum, o.Spec.SourceImage.ChecksumType = url, "", ""
	o.Generation++
	if err := l.client.Update(l.t.Context(), o); err != nil {
		l.t.Fatal(err)
	}
}

// looked reconciles templates and classes for some minutes, whether they are ready or not.
func (l *lab) looked() { l.lookedUntil("") }

// lookedUntil goes on until the template says a text: in the moment of another try it says what is tried.
func (l *lab) lookedUntil(text string) {
	l.t.Helper()
	name := request("default")
	says := func() bool {
		return text == "" || strings.Contains(l.template().StatusConditions().Get("Ready").Message, text)
	}
	for n := 0; n < 30 || n < 60 && !says(); n++ {
		for _, r := range []reconcile.Reconciler{&templates{client: l.client, regions: l.regions, set: l.set, events: l.events}, &classes{client: l.client, provider: l.CloudProvider}} {
			if _, err := r.Reconcile(l.t.Context(), name); err != nil {
				l.t.Fatal(err)
			}
		}
		if n < 29 || !says() {
			time.Sleep(10 * time.Second) // virtual
		}
	}
}

// While the next version of a template is made, or can't be made, nodes are made from the former one, and replaced once it is there.
func TestNodesAreMadeWhileATemplateIsReplaced(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		l.settle()
		former := l.template().Status
		l.fromURL("http://127.0.0.1:1/missing/noble-server-cloudimg-amd64.img")
		l.lookedUntil("404")
		is, ready := l.template(), l.class().StatusConditions().Get("Ready")
		if is.StatusConditions().Get("Ready").IsTrue() || !strings.Contains(is.StatusConditions().Get("Ready").Message, "404") {
			t.Errorf("the template is %+v", is.Status)
		}
		if !ready.IsTrue() || !slices.Equal(is.Status.Zones, former.Zones) || is.Status.ImageID != former.ImageID || len(l.class().Status.SelectedZones) != 2 {
			t.Fatalf("the class is %+v, and the template %+v", ready, is.Status)
		}
		if made := l.class().StatusConditions().Get(api.ConditionInstanceTemplateReady).Message; !strings.Contains(made, "404") || !strings.Contains(made, "2 zones") {
			t.Errorf("it is said: %q", made)
		}
		c := l.create(l.claim("node-1"))
		if c.Status.ImageID != former.ImageID {
			t.Errorf("it is made from %s, and not from %s", c.Status.ImageID, former.ImageID)
		}
		if conf := l.config(vmidOf(t, c)); conf["machine"] != "q35" || !strings.Contains(conf["net0"], "tag=15") || !strings.Contains(conf["scsi0"], "size=30G") {
			t.Errorf("it is %v", conf)
		}
		l.initialized(c)
		l.fromURL("http://127.0.0.1:1/new/noble-server-cloudimg-amd64.img")
		l.looked()
		if now := l.template().Status; now.ImageID == former.ImageID || slices.Equal(now.Zones, former.Zones) || len(now.Zones) != 2 {
			t.Errorf("the template is %+v", now)
		}
		if reason, err := l.IsDrifted(t.Context(), c); err != nil || reason != ImageDrift {
			t.Errorf("drifted: %q, %v", reason, err)
		}
		l.keep(c)
		next := l.create(l.claim("node-2"))
		if next.Status.ImageID != l.template().Status.ImageID {
			t.Errorf("it is made from %s", next.Status.ImageID)
		}
	})
}

// A Proxmox node that can't have the template holds up no other one.
func TestNodesAreMadeWhereTheTemplateIs(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/pve2/qemu", Status: 500, Error: "no space left"}); err != nil {
			t.Fatal(err)
		}
		l.looked()
		if ready := l.class().StatusConditions().Get("Ready"); !ready.IsTrue() || len(l.class().Status.SelectedZones) != 1 {
			t.Fatalf("the class is %+v: %v; %+v", ready, l.class().Status.SelectedZones, l.template().Status)
		}
		if ready := l.template().StatusConditions().Get("Ready"); ready.IsTrue() || !strings.Contains(ready.Message, "pve2") {
			t.Errorf("the template is %+v", ready)
		}
		c := l.create(l.claim("node-1"))
		if c.Labels[corev1.LabelTopologyZone] != "pve1" || c.Status.ImageID == "" {
			t.Errorf("it is %v, from %q", c.Labels, c.Status.ImageID)
		}
		l.initialized(c)
		l.sim.RemoveFault(0)
		l.looked()
		if ready := l.template().StatusConditions().Get("Ready"); !ready.IsTrue() || len(l.class().Status.SelectedZones) != 2 {
			t.Errorf("the template is %+v", ready)
		}
		if reason, err := l.IsDrifted(t.Context(), c); err != nil || reason != "" {
			t.Errorf("drifted: %q, %v", reason, err)
		}
	})
}
