package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
)

// templates are what an image stands for on each of its Providers. What was known before
// stays while an image can't be seen, so that another template is noticed when it can.
func (e entry) templates(known []api.ImageTemplate) []api.ImageTemplate {
	var all []api.ImageTemplate
	for _, provider := range e.found.providers {
		out, ok := e.outcomes[teller{provider: provider}]
		if !ok || len(out.Templates) == 0 && out.State != engine.StateGone {
			for _, t := range known {
				if t.Provider == provider.Name {
					all = append(all, t)
				}
			}
			continue
		}
		for _, t := range out.Templates {
			all = append(all, api.ImageTemplate{Provider: provider.Name, VMID: t.VMID, Name: t.Name, Node: t.Node})
		}
	}
	slices.SortFunc(all, func(a, b api.ImageTemplate) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.VMID, b.VMID))
	})
	return all
}

// announceTemplates emits an event when an image stands for another template than before: names
// aren't unique in Proxmox, and whoever may configure a VM may rename it. A new template is
// reported, too: machines may be made from it.
func (c *objects) announceTemplates(before, image *api.VMImage) {
	was, is := before.Status.Templates, image.Status.Templates
	if image.Spec.Source == "" || before.Generation != before.Status.ObservedGeneration {
		return // what it stands for was changed in the object
	}
	gone := slices.DeleteFunc(slices.Clone(was), func(t api.ImageTemplate) bool { return hasTemplate(is, t) })
	come := slices.DeleteFunc(slices.Clone(is), func(t api.ImageTemplate) bool { return hasTemplate(was, t) })
	if len(was) == 0 || len(come) == 0 {
		return
	}
	text := fmt.Sprintf("source %s stands for %s now", image.Spec.Source, templateText(come))
	if len(gone) > 0 {
		text += ", and no longer for " + templateText(gone)
	} else {
		text += " beside " + templateText(was)
	}
	text += "; machines that are there stay as they are, new ones are made from what it stands for: see whether that is meant, or say it in spec.sourceSelector"
	c.events.Eventf(image, nil, corev1.EventTypeWarning, EventSource, EventSource, "%s", text)
}

func hasTemplate(list []api.ImageTemplate, one api.ImageTemplate) bool {
	return slices.ContainsFunc(list, func(t api.ImageTemplate) bool { return t.Provider == one.Provider && t.VMID == one.VMID })
}

func templateText(list []api.ImageTemplate) string {
	parts := make([]string, len(list))
	for i, t := range list {
		parts[i] = fmt.Sprintf("template %d on %s", t.VMID, t.Node)
	}
	return strings.Join(parts, ", ")
}
