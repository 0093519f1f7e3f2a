package terraform

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// configured is what all resources have in common: the configured provider.
type configured struct{ door *door }

func (c *configured) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	c.door, _ = req.ProviderData.(*door)
}

// ready reports whether the provider is configured; it isn't while its arguments aren't known yet.
func (c *configured) ready(diags *diag.Diagnostics) bool {
	if c.door == nil {
		diags.AddError("The provider isn't configured yet", "Something in the provider's block isn't known before other resources are made. Give it a value that is known, or apply those resources first with -target.")
	}
	return c.door != nil
}

// blockError says that a Proxmox can't even be asked, by what the provider's block or the environment say.
type blockError struct{ err error }

func (e *blockError) Error() string { return e.err.Error() }
func (e *blockError) Unwrap() error { return e.err }

// failures says why objects of one resource aren't as they were waited for: of the first ones in full, and of the others which they are.
func failures(errs []error) (diags diag.Diagnostics) {
	const shown = 3
	var others []string
	for i, err := range errs {
		summary, detail := failure(err)
		if i < shown {
			diags.AddError(summary, detail)
			continue
		}
		others = append(others, summary)
	}
	if len(others) > 0 {
		diags.AddError(fmt.Sprintf("And %d others", len(others)), strings.Join(others, "\n"))
	}
	return diags
}

// failure says why something isn't as it was waited for.
func failure(err error) (summary, detail string) {
	var waited *site.AwaitError
	var block *blockError
	switch {
	case errors.As(err, &waited):
	case errors.As(err, &block):
		return "The provider's block can't be used", err.Error()
	case errors.Is(err, context.Canceled):
		return "It was interrupted", "What was begun goes on in Proxmox; the next apply finds it."
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "Proxmox can't be trusted", err.Error() + ". Proxmox signs its certificates itself: say fingerprint or ca in the provider's block, or PVE_FINGERPRINT or PVE_CA_BUNDLE."
	default:
		return "Proxmox can't be used", err.Error()
	}
	o := waited.Outcome
	v := status.Terraform.Outcome(o)
	message := attributesIn(v.Message)
	summary, detail = o.Owner.Name+" isn't ready", message
	switch {
	case errors.Is(waited.Err, context.Canceled):
		return o.Owner.Name + " was interrupted", fmt.Sprintf("Until then: %s. What was begun goes on in Proxmox; the next apply finds it and goes on.", cmp.Or(message, "nothing was done"))
	case waited.Err != nil:
		detail = fmt.Sprintf("%s (%v)", detail, waited.Err)
	}
	if o.VMID != 0 && o.Status != "" && o.State != engine.StateGone {
		detail += fmt.Sprintf(". VM %d stays as it is; the next apply finds it and goes on.", o.VMID)
	}
	return summary, detail
}
