package manifest

import (
	"fmt"
	"os"
	"path/filepath"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/spec"
)

// bootSpec is what a machine's manifest says about its first boot, or that of
// what it is a clone of.
type bootSpec struct {
	userData  *api.UserData
	metaData  *api.MetaData
	variables map[string]string
}

func bootOf(m *api.MachineSpec) bootSpec { return bootSpec{m.UserData, m.MetaData, m.Variables} }

// firstBoot finds the texts that a machine gets at its first boot.
func (b *build) firstBoot(boot bootSpec) {
	to, before := &b.spec.FirstBoot, len(b.errs)
	to.Variables = boot.variables
	if b.options.Late != nil && (boot.userData != nil || boot.metaData != nil) && b.options.Late() {
		b.fail("spec.userData", "%s", spec.TooLate(b.here()))
	} else {
		to.MetaData, to.UserData = b.metaData(boot.metaData), b.userData(boot.userData)
	}
	to.Unread = len(b.errs) > before
	if to.Unread && to.Inherited && b.spec.Remembered != 0 {
		// What is wrong with its source now doesn't concern a copy that is made.
		b.errs = b.errs[:before]
		if b.wrong != nil {
			b.wrong.forget(b.o.key, 0)
		}
	}
}

func (b *build) metaData(m *api.MetaData) *spec.Text {
	if m == nil {
		return nil
	}
	t := b.passage("spec.metaData", m.Text)
	return &t
}

func (b *build) userData(u *api.UserData) *spec.UserData {
	if u == nil {
		return nil
	}
	const field = "spec.userData."
	to := &spec.UserData{Delivery: u.Delivery, FWCfgName: u.FWCfgName}
	if c := u.CloudInit; c != nil {
		to.CloudInit = &spec.CloudInit{Text: b.passage(field+"cloudInit", c.Text), Rerun: c.Rerun}
	}
	if i := u.Ignition; i != nil {
		t := b.passage(field+"ignition", i.Text)
		to.Ignition = &t
	}
	if bu := u.Butane; bu != nil {
		to.Butane = &spec.Butane{Text: b.passage(field+"butane", bu.Text)}
		for i, s := range bu.Snippets {
			to.Butane.Snippets = append(to.Butane.Snippets, b.passage(fmt.Sprintf("%sbutane.snippets[%d]", field, i), s.Text))
		}
		b.butaneFiles(to.Butane, bu.Files)
	}
	return to
}

func (b *build) butaneFiles(to *spec.Butane, f *api.ButaneFiles) {
	const field = "spec.userData.butane.files"
	switch {
	case f == nil:
		return
	case (f.Folder == "") == (f.ConfigMapRef == nil):
		b.fail(field, "want either folder or configMapRef")
		return
	case f.ConfigMapRef != nil:
		if o := b.find(field+".configMapRef.name", "ConfigMap", f.ConfigMapRef.Name); o != nil {
			to.Files = o.Object.(*ConfigMap).files()
		}
		return
	case b.o.places == nil:
		b.fail(field+".folder", "is for manifests in files; inside Kubernetes, use configMapRef")
		return
	}
	folder := f.Folder
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(b.o.where(field+".folder").file), folder)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		b.fail(field+".folder", "there is no folder %s", folder)
		return
	}
	to.Folder = folder
}
