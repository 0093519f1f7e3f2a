package terraform

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

func TestFailuresAreTold(t *testing.T) {
	for want, err := range map[string]error{
		"The provider's block can't be used": &blockError{errors.New("the CA has no certificates")},
		"It was interrupted":                 fmt.Errorf("look: %w", context.Canceled),
		"web was interrupted":                &site.AwaitError{Outcome: site.Outcome{Owner: model.Owner{Key: model.Key{Name: "web"}}}, Err: context.Canceled},
		"Proxmox can't be used":              errors.New("connection refused"),
	} {
		if got, _ := failure(fmt.Errorf("plan: %w", err)); got != want {
			t.Errorf("%v is told as %q, want %q", err, got, want)
		}
	}
}
