package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Proxmox knows the format of an image's file by the ending of its name. The name of the file at the URL may
// show it, or its first bytes, which this process looks at. A file that is there was named right when
// it was fetched.

// fileStem returns the name under which an image is fetched, without its format: one for each generation.
func fileStem(i model.Image) string { return filePrefix(i) + i.Version() + "." }

// fileOf reports whether a file is the one that templates of an image are made from.
func fileOf(i model.Image, name string) bool {
	format, ok := strings.CutPrefix(name, fileStem(i))
	return ok && slices.Contains(model.Formats, format)
}

// fetchedFile returns the volume of an image's file that a node has, or shares; empty: there is none.
func (p *planner) fetchedFile(i model.Image, storage, node string) string {
	for _, format := range model.Formats {
		if volume := storage + ":import/" + fileStem(i) + format; p.fileOn(volume, node) {
			return volume
		}
	}
	return ""
}

// fetching finds the task that fetches the file of an image onto a storage of a node, or onto a shared
// one from any.
func (p *planner) fetching(i model.Image, node string, shared bool) *model.Task {
	for _, format := range model.Formats {
		if t := p.task(fileStem(i)+format, node, shared); t != nil {
			return t
		}
	}
	return nil
}

// task finds the task that fetches a file: Proxmox files it under the file's name. Uploads have
// none.
func (p *planner) task(file, node string, shared bool) *model.Task {
	for _, t := range p.have.Tasks {
		if t.Type == "download" && t.ID == file && (shared || t.Node == node) {
			return &t
		}
	}
	return nil
}

// arriving finds a task that may bring a file of an image, of any generation. Proxmox doesn't say what
// an upload brings.
func (p *planner) arriving(i model.Image) *model.Task {
	for _, t := range p.have.Tasks {
		if t.Type == "download" && strings.HasPrefix(t.ID, filePrefix(i)) || t.Type == "imgcopy" && i.Packing() != "" {
			return &t
		}
	}
	return nil
}

// fileSize returns the size of the file that is fetched for an image; 0: not known.
func (p *planner) fileSize(i model.Image, node string) int64 {
	return cmp.Or(p.have.URLs[model.URLKey(node, i.URL)].Size, p.have.URLs[model.URLKey("", i.URL)].Size)
}

// imageFormat returns the format of an image. While it is empty, there is something to look at or to wait for.
func (p *planner) imageFormat(o *Object, i model.Image) string {
	said, asked := p.have.URLs[model.URLKey("", i.URL)]
	if !asked {
		o.Look.URLs = append(o.Look.URLs, model.URLKey("", i.URL))
		return ""
	}
	if p.unusable(o, i, said) || p.astray(o, i, said) {
		return ""
	}
	return cmp.Or(said.Format, model.NamedFormat(i.URL), "qcow2") // what most of them are; Proxmox refuses what isn't
}

// unusable reports whether this process has found that a file can't be used. A file that it doesn't reach may still be
// reachable from the node that fetches it.
func (p *planner) unusable(o *Object, i model.Image, said model.URLState) bool {
	packed := i.Packing() != ""
	switch {
	case said.Missing != "" && packed:
		o.wait(model.WaitMissing, fmt.Sprintf("there is no image at %s: %s; correct the URL, or put the file there", i.Address(), said.Missing))
	case said.Missing != "": // a node may get it all the same
		o.note("this machine doesn't get %s: %s", i.Address(), said.Missing)
	case said.Wrong != "":
		o.wait(model.WaitUnfit, fmt.Sprintf("%s can't be used: %s", i.Address(), said.Wrong))
	case said.Unreachable != "" && packed:
		o.wait(model.WaitMissing, fmt.Sprintf("%s has to be unpacked by this machine, which Proxmox doesn't do, and %s; let it reach the URL (HTTPS_PROXY names a proxy), or give an image that isn't packed", i.Address(), said.Unreachable))
	}
	return o.Wait != nil
}

// astray adds a note if the server of a URL redirects to another host, as far as this process can see: Proxmox follows
// redirects without reporting them. It reports whether the redirect isn't followed.
func (p *planner) astray(o *Object, i model.Image, said model.URLState) bool {
	packed, sure, from := i.Packing() != "", i.Checksum != "", i.Address()
	switch to := said.Elsewhere; {
	case to == "":
	case said.Plain && packed:
		o.wait(model.WaitUnfit, fmt.Sprintf("%s leads to http://%s, without TLS, and isn't fetched from there: give a URL that stays with HTTPS", from, to))
	case said.Plain && !sure:
		o.wait(model.WaitUnfit, fmt.Sprintf("%s leads to http://%s, without TLS, and no checksum says what the file is: give the checksum, or a URL that stays with HTTPS", from, to))
	case said.Plain:
		o.note("%s leads to http://%s, without TLS; the nodes must reach that host, too, and the checksum says whether the file is the right one", from, to)
	case packed && !sure:
		o.wait(model.WaitUnfit, fmt.Sprintf("%s leads to %s, and no checksum says what the file is: give the checksum, or the URL at %s", from, to, to))
	case !sure:
		o.note("%s leads to %s, and no checksum says what the file is: give the checksum, or the URL at %s", from, to, to)
	case packed:
		o.note("%s leads to %s; the checksum says whether the file is the right one", from, to)
	default:
		o.note("%s leads to %s; the nodes must reach that host, too, and the checksum says whether the file is the right one", from, to)
	}
	return o.Wait != nil
}

// unsureOfUpload reports whether it isn't known yet if these credentials may upload to a storage, and requests that:
// Proxmox refuses an upload only when it has received everything. See imagePlace for the refusal.
func (p *planner) unsureOfUpload(o *Object, storage string) bool {
	path := "/storage/" + storage
	_, asked := p.have.Rights[path]
	if !asked {
		o.Look.Rights = append(o.Look.Rights, path)
	}
	return !asked
}

// fetch brings the file of an image onto a storage: by Proxmox, or through this process where it has
// to be unpacked.
func (p *planner) fetch(i model.Image, node, storage, file, why string) Step {
	if i.Packing() == "" {
		return Step{
			Action: model.Download{Node: node, Storage: storage, Content: "import", File: file, URL: i.URL, Checksum: i.Checksum, Algorithm: i.ChecksumAlgorithm},
			What:   "fetch " + i.Address() + " onto " + storage, Why: why, Effect: New,
		}
	}
	s := Step{
		Action: model.Unpack{Node: node, Storage: storage, File: file, URL: i.URL, Packing: i.Packing(), Checksum: i.Checksum, Algorithm: i.ChecksumAlgorithm, Room: p.freeOn(storage, node)},
		What:   fmt.Sprintf("fetch %s through this machine, unpack it and upload a %s onto %s", i.Address(), path.Ext(file)[1:], storage), Why: why, Effect: New,
	}
	return s
}

// freeOn returns the free space on a storage of a node; 0: not known.
func (p *planner) freeOn(storage, node string) int64 {
	if s := p.have.Storages[storage]; s != nil && s.OnNode[node].Total > 0 {
		return s.OnNode[node].Free()
	}
	return 0
}
