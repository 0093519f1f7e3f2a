package setup

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/cli/kinds"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// firstMachine is what the first manifest says.
type firstMachine struct {
	machine, image, memory, disk string
	cpus                         int
}

// debian is what machines are made from where there is no template.
const debian = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-genericcloud-amd64.qcow2"

// choose finds an image among what the cluster has, and asks which one.
func (m *firstMachine) choose(ctx context.Context, u *ui.UI, have *model.Observed) error {
	templates := target.Sorted(have, func(g *model.Guest) bool { return g.Template && !g.Container })
	var names []string
	for _, t := range templates {
		names = append(names, t.Name)
	}
	if m.image == "" {
		m.image = debian
		if len(names) > 0 {
			m.image = names[0]
		}
		if u.Asks() {
			if len(names) > 0 {
				u.Say("Templates: %s.", strings.Join(names, ", "))
			}
			answer, err := u.AskText(ctx, "Template, or URL of a cloud image", m.image)
			if err != nil {
				return err
			}
			m.image = answer
		}
	}
	if m.url() {
		m.grow(10 << 30)
		return nil
	}
	t, err := target.FindGuest(have, m.image)
	switch {
	case err != nil:
		return ui.Advise(fmt.Errorf("there is no template %q", m.image), ui.Sentence(ui.ThereAre(names)), "Or give the URL of a cloud image: --image https://…")
	case !t.Template:
		return ui.Advise(fmt.Errorf("VM %d (%s) is no template", t.VMID, t.Name), ui.Sentence(ui.ThereAre(names)))
	}
	m.grow(t.Disk)
	return nil
}

func (m *firstMachine) url() bool { return strings.Contains(m.image, "://") }

// grow makes the disk at least as large as what it is made from, unless somebody has
// said how large it is to be.
func (m *firstMachine) grow(image int64) {
	const gib, usual = 1 << 30, 10 << 30
	if m.disk == "" {
		m.disk = fmt.Sprintf("%dGi", (max(image, usual)+gib-1)/gib)
	}
}

var firstManifest = template.Must(template.New("").Parse(`# yaml-language-server: $schema=proxplane.schema.json
# (editors check and complete this file after: proxplane schema > proxplane.schema.json)

# How large machines are. "proxplane explain class" shows all fields.
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata:
  name: small
spec:
  cpus: {{.CPUs}}
  memory: {{.Memory}}
---
# What they are made from.
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata:
  name: base
spec:
{{- if .URL}}
  url: {{.Image}}
{{- else}}
  source: "{{.Image}}" # a template in Proxmox
{{- end}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata:
  name: {{.Machine}}
spec:
  classRef:
    name: small
  imageRef:
    name: base
  powerState: On
  networks:
    - name: lan # the bridge vmbr0
  disks:
    - name: root
      size: {{.Disk}}
`))

// manifest is the first manifest, which is checked before anybody gets to see it.
func (m *firstMachine) manifest() ([]byte, error) {
	for flag, size := range map[string]string{"--memory": m.memory, "--disk": m.disk} {
		if q, err := resource.ParseQuantity(size); err != nil || q.Sign() <= 0 {
			return nil, fmt.Errorf("%s %s: want a size such as 4Gi", flag, size)
		}
	}
	if !spec.IsGuestName(m.machine) {
		return nil, fmt.Errorf("--machine %q isn't a name that a machine can have: want small letters, digits and hyphens", m.machine)
	}
	var out bytes.Buffer
	err := firstManifest.Execute(&out, map[string]any{
		"CPUs": m.cpus, "Memory": m.memory, "Disk": m.disk, "Machine": m.machine, "Image": m.image, "URL": m.url(),
	})
	if err != nil {
		return nil, err
	}
	set, err := manifest.Parse("the first manifest", out.Bytes())
	if err == nil {
		_, err = set.Wanted(manifest.Options{Set: target.DefaultSet, Getenv: kinds.Offline})
	}
	return out.Bytes(), err
}
