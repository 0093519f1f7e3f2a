package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// unlisted is an action that has no row.
type unlisted struct{ model.Start }

func TestAnActionWithoutARowNeedsAFreshProof(t *testing.T) {
	for _, a := range []model.Action{unlisted{}, &model.Start{}, nil} {
		if f := model.FactsOf(a); f.Kind != "" || f.Proof != model.ProofFresh {
			t.Errorf("%T: %+v", a, f)
		}
	}
}

func TestFactsAgreeWithEachOther(t *testing.T) {
	for _, kind := range model.Kinds() {
		f := model.FactsOfKind(kind)
		changes := func(c model.Call) bool { return c.Method != "GET" && strings.HasPrefix(c.Path, model.VMPath) }
		for reason, wrong := range map[string]bool{
			"it calls nothing":                                        len(f.Calls) == 0,
			"it changes nothing that is observed":                     f.Changes == 0 && !f.Inside,
			"what is inside a guest isn't observed":                   f.Inside && (f.Changes != 0 || !f.ByHand || f.Proof != model.ProofRead),
			"it changes a guest and needs no proof that it is ours":   f.Proof == model.ProofName && slices.ContainsFunc(f.Calls, changes),
			"only what makes a guest can rely on its VMID being free": f.Makes != (f.Proof == model.ProofNew),
			"the list shows which guests there are":                   (f.Makes || f.Destroys) && !f.Listed,
			"what destroys loses the guest":                           f.Destroys && f.Loses != model.LosesGuest,
			"what changes the power is right for what was seen only":  f.Power != "" && !f.AsSeen,
			"a start leaves a guest that runs":                        f.Boots && f.Power != model.StatusRunning,
			"success either tells or is checked":                      f.Tells && f.Checked,
		} {
			if wrong {
				t.Errorf("%s: %s", kind, reason)
			}
		}
	}
}
