package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// A guest with devices goes to a node that has them, by their mappings.
func TestGuestsGoWhereTheirDevicesAre(t *testing.T) {
	devices := map[string]map[string]int{"pci/gpu": {"pve2": 1, "pve3": 2}}
	for _, c := range []struct {
		reason  string
		options map[string]string
		devices map[string]map[string]int
		node    string
		says    string
	}{
		{"one device", map[string]string{"hostpci0": "mapping=gpu"}, devices, "pve2", "pve1: no device of mapping gpu"},
		{"two devices", map[string]string{"hostpci0": "mapping=gpu", "hostpci1": "mapping=gpu"}, devices, "pve3", "pve2: 1 device of mapping gpu, 2 needed"},
		{"two parts of one device", map[string]string{"hostpci0": "mapping=gpu,mdev=x", "hostpci1": "mapping=gpu,mdev=x"}, devices, "pve2", "pve1: no device of mapping gpu"},
		{"Proxmox doesn't say", map[string]string{"hostpci0": "mapping=gpu"}, nil, "pve1", ""},
		{"more than any node has", map[string]string{"hostpci0": "mapping=gpu", "hostpci1": "mapping=gpu", "hostpci2": "mapping=gpu"}, devices, "", "pve3: 2 devices of mapping gpu, 3 needed"},
	} {
		w := newWorld()
		w.seeing(func(o *model.Observed) { o.Devices = c.devices })
		v := testVM("web")
		for k, value := range c.options {
			v.Options = withOption(v.Options, k, value)
		}
		p := w.plan(desired(v))
		if o := p.Objects[len(p.Objects)-1]; o.Node != c.node || !strings.Contains(p.String(), c.says) {
			t.Errorf("%s: it goes to %q:\n%s", c.reason, o.Node, p)
		}
	}
}
