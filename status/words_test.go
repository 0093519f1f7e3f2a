package status

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestEveryReasonThatIsACodeHasWords(t *testing.T) {
	for _, why := range model.Whys {
		if Sentence(why) == why {
			t.Errorf("there are no words for %q", why)
		}
	}
	if len(whys) != len(model.Whys) {
		t.Errorf("there are words for %d reasons, and %d reasons", len(whys), len(model.Whys))
	}
}
