package karpenter

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
)

// A node is replaced for each of these reasons, and for no other change.
func TestNodesDriftForAReason(t *testing.T) {
	byHand := func(l *lab, id int, key, value string) {
		l.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf[key] = value })
	}
	for _, c := range []struct {
		reason string
		change func(l *lab, id int)
		want   cloudprovider.DriftReason
	}{
		{"nothing has changed", func(*lab, int) {}, ""},
		{"the disk of the class", func(l *lab, _ int) { l.changeClass(func(c *api.ProxmoxNodeClass) { c.Spec.BootDevice.Size = "40G" }) }, NodeClassDrift},
		{"the placement of further ones", func(l *lab, _ int) {
			l.changeClass(func(c *api.ProxmoxNodeClass) {
				c.Spec.PlacementStrategy = &api.PlacementStrategy{ZoneBalance: api.ZoneAvailabilityFirst}
			})
		}, ""},
		{"the board of the template", func(l *lab, _ int) { l.changeTemplate(func(t *api.TemplateSpec) { t.CPU.Type = "host" }) }, TemplateDrift},
		{"tags of the template", func(l *lab, _ int) { l.changeTemplate(func(t *api.TemplateSpec) { t.Tags = []string{"blue"} }) }, ""},
		{"the image of the template", func(l *lab, _ int) {
			l.changeTemplate(func(t *api.TemplateSpec) { t.SourceImage.URL = "http://127.0.0.1:1/new/noble.img" })
		}, ImageDrift},
		{"the HA manager, or somebody, has moved the machine", func(l *lab, id int) {
			l.sim.Do(func(s *pvesim.State) {
				vm := s.VMs[id]
				vm.Node = map[string]string{"pve1": "pve2", "pve2": "pve1"}[vm.Node]
			})
		}, ZoneDrift},
		{"somebody has changed what only a restart undoes", func(l *lab, id int) { byHand(l, id, "cpu", "host") }, MachineDrift},
		{"somebody has changed the name, which is changed back", func(l *lab, id int) { byHand(l, id, "name", "mine") }, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
				l.settle()
				claim := l.create(l.claim("node-1"))
				l.initialized(claim)
				id := vmidOf(t, claim)
				c.change(l, id)
				l.looked()
				time.Sleep(time.Minute)
				if c.want == MachineDrift || c.reason == "somebody has changed the name, which is changed back" {
					time.Sleep(verifyNodes) // no list shows it
				}
				if got, err := l.IsDrifted(t.Context(), claim); err != nil || got != c.want {
					t.Errorf("it is %q, %v, want %q", got, err, c.want)
				}
				if conf := l.config(id); conf == nil || conf["name"] != "node-1" || conf["memory"] != "4096" {
					t.Errorf("the machine is %v", conf)
				}
				if zone := claim.Labels[corev1.LabelTopologyZone]; c.want != "" && whyDrifted[c.want] == "" || zone == "" {
					t.Errorf("it is on %q, and nobody says why it is replaced", zone)
				}
			})
		})
	}
}

// changeTemplate changes the template, and waits until it is so.
func (l *lab) changeTemplate(change func(*api.TemplateSpec)) {
	l.t.Helper()
	o := l.template()
	change(&o.Spec)
	o.Generation++
	if err := l.client.Update(l.t.Context(), o); err != nil {
		l.t.Fatal(err)
	}
	l.looked()
}

// A mistake in the image of a template is said, and nodes are made from what there is. One in the hardware keeps them from being made; what
// was made stays.
func TestAMistakeInATemplateTakesNothingAway(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*api.TemplateSpec)
		says   string
		made   bool
	}{
		{"a checksum that is none", func(s *api.TemplateSpec) { s.SourceImage.Checksum = strings.Repeat("0", 33) }, "checksum", true},
		{"a storage that doesn't exist", func(s *api.TemplateSpec) { s.StorageIDs = []string{"nowhere"} }, "there is no storage nowhere", true},
		{"an address that is none", func(s *api.TemplateSpec) { s.Network[0].Address4 = "somewhere" }, "spec.network[0].address4", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
				l.settle()
				former, good := l.template().Status, l.template().Spec
				l.changeTemplate(func(s *api.TemplateSpec) {
					s.SourceImage.URL = "http://127.0.0.1:1/new/noble.img"
					c.change(s)
				})
				is, ready := l.template(), l.class().StatusConditions().Get("Ready")
				if is.StatusConditions().Get("Ready").IsTrue() || !strings.Contains(is.StatusConditions().Get("Ready").Message, c.says) {
					t.Errorf("the template says %q", is.StatusConditions().Get("Ready").Message)
				}
				if len(is.Status.Zones) != 2 || is.Status.ImageID != former.ImageID || ready.IsTrue() != c.made {
					t.Fatalf("the template is %+v, and the class %+v", is.Status, ready)
				}
				if c.made {
					if claim := l.create(l.claim("node-1")); claim.Status.ImageID != former.ImageID {
						t.Errorf("it is made from %s, and not from %s", claim.Status.ImageID, former.ImageID)
					}
				} else if !strings.Contains(ready.Message, c.says) {
					t.Errorf("the class says %q", ready.Message)
				}
				l.changeTemplate(func(s *api.TemplateSpec) { *s = good })
				if now := l.template(); !now.StatusConditions().Get("Ready").IsTrue() || now.Status.ImageID != former.ImageID {
					t.Errorf("put right, it is %+v", now.Status)
				}
			})
		})
	}
}
