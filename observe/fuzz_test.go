package observe

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/pve"
)

// FuzzAnyConfigIsRead reads configs of any lines, of which some are about to change
// (+) or to be removed (-) at the next start. The order in which Proxmox lists them
// means nothing.
func FuzzAnyConfigIsRead(f *testing.F) {
	for _, text := range []string{
		"name: web\nmemory: 2048\n+memory: 4096\nscsi0: local-lvm:vm-100-disk-0,size=8G\nnet0: virtio=BC:24:11:00:00:01,bridge=vmbr0\n-vga: std",
		"scsi0: \nscsi99999999999999999999: x\nnet0: ,,,\nunused0: :\nide2: none,media=cdrom\nefidisk0: a:b,size=", "description: <!-- proxplane {\"owner\":{\"name\":\"x\"},\"vmid\":-1} -->\nlock: clone\ntemplate: yes",
		"tags: ;;\u00e4;;\ndigest: \n: \nscsi: x\nnet: y\n007: z", "boot: order=;;\nsmbios1: base64=1,uuid=x\ncpu: ,\nmemory: current=-1\nstartup: order=99999999999999999999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[string]bool{}
		var list []pve.PendingSetting
		for line := range strings.Lines(text) {
			key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			name := strings.TrimLeft(key, "+-")
			if !ok || seen[name] {
				continue
			}
			seen[name] = true
			s := pve.PendingSetting{Key: name, Value: &value}
			switch {
			case strings.HasPrefix(key, "+"):
				s.Value, s.Pending = nil, &value
			case strings.HasPrefix(key, "-"):
				s.Delete = true
			}
			list = append(list, s)
		}
		first := readingOf(list)
		rand.New(rand.NewPCG(1, uint64(len(list)))).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		again := readingOf(list)
		if diff := cmp.Diff(first, again, cmp.AllowUnexported(reading{})); diff != "" {
			t.Errorf("in another order it is another machine:\n%s", diff)
		}
	})
}
