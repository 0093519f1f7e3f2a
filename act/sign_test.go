package act_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
)

// Markers are signed wherever they are written, and a signature proves whose a guest is under a VMID of others.
func TestMarkersAreSignedWhereverTheyAreWritten(t *testing.T) {
	keys, err := model.ParseKeys(strings.Repeat("k", model.MinKey))
	if err != nil {
		t.Fatal(err)
	}
	note := func(id int) string { return model.Describe("text", model.Marker{Owner: us, VMID: id}) }
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.actor.Signing(keys)
		signed := func(id int) {
			t.Helper()
			_, m, ok := model.ParseDescription(l.conf(id)["description"])
			if !ok || keys.Verify(&m) != model.Signed {
				t.Errorf("VM %d says %q", id, l.conf(id)["description"])
			}
		}
		l.must(model.Create{Target: at(200), Name: "made", Description: note(200)})
		signed(200)
		l.must(model.MakeTemplate{Target: at(200)})
		l.must(model.Clone{From: at(200), To: at(201), Name: "copy", Description: note(201)})
		signed(201)
		l.must(model.Configure{Target: at(100), Description: new(note(100))})
		signed(100)
		l.must(model.Destroy{Target: at(201), Owner: us})
		if l.conf(201) != nil {
			t.Error("it is still there")
		}
		other, err := model.ParseKeys(strings.Repeat("o", model.MinKey))
		if err != nil {
			t.Fatal(err)
		}
		l.actor.Signing(other)
		if err := l.do(model.Destroy{Target: at(100), Owner: us}); !errors.Is(err, act.ErrNotOurs) {
			t.Errorf("it is signed by somebody else: %v", err)
		}
	})
}
