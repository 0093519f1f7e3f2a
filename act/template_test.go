package act_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// A base volume that was left of an earlier VM keeps the next one from becoming a template, for good.
func TestABaseVolumeThatIsInTheWayIsNamed(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		const text = "file '/var/lib/vz/images/101/base-101-disk-0.qcow2' already exists"
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmtemplate", Mode: "instead", Error: text}); err != nil {
			t.Fatal(err)
		}
		l.must(model.Stop{Target: at(100)})
		f := act.Judge(l.do(model.MakeTemplate{Target: at(100)}))
		if !strings.Contains(f.Hint.Text, "has left that volume: if nobody needs it, remove it with pvesm free") {
			t.Errorf("%+v", f)
		}
	})
}
