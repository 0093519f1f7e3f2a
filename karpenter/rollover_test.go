package karpenter

import (
	"testing"
	"time"

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
