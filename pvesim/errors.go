package pvesim

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// apiError is an error as Proxmox answers it: a status, the text that goes
// into the reason phrase and the body, and texts per parameter.
type apiError struct {
	status int
	text   string
	fields schema.Errors
	// bare errors come from the HTTP daemon itself, before any API code: the
	// body is the text alone, or nothing.
	bare, empty bool
	// raised errors are exceptions with a code; extjs shows it as a string.
	raised bool
}

func (e *apiError) Error() string { return strings.TrimRight(e.text, "\n") }

// die is a plain error of the API code: status 500.
func die(format string, args ...any) *apiError {
	return &apiError{status: http.StatusInternalServerError, text: fmt.Sprintf(format, args...) + "\n"}
}

// badParam is a 400 for one parameter, found by code and not by the schema.
func badParam(field, format string, args ...any) *apiError {
	return badParams(schema.Errors{field: fmt.Sprintf(format, args...)})
}

func badParams(errs schema.Errors) *apiError {
	return &apiError{status: http.StatusBadRequest, text: "Parameter verification failed.\n", fields: errs, raised: true}
}

// denied is a 403; what is the part in brackets.
func denied(what string) *apiError {
	text := "Permission check failed\n"
	if what != "" {
		text = fmt.Sprintf("Permission check failed (%s)\n", what)
	}
	return &apiError{status: http.StatusForbidden, text: text, raised: true}
}

// coded is an error with a status of its own.
func coded(status int, format string, args ...any) *apiError {
	return &apiError{status: status, text: fmt.Sprintf(format, args...) + "\n", raised: true}
}

// daemonError comes from the HTTP daemon: no JSON around it.
func daemonError(status int, format string, args ...any) *apiError {
	return &apiError{status: status, text: fmt.Sprintf(format, args...), bare: true}
}

// emptyError has a reason phrase and no body at all.
func emptyError(status int, format string, args ...any) *apiError {
	return &apiError{status: status, text: fmt.Sprintf(format, args...), empty: true}
}

// noGuest is what Proxmox says of a VM whose config file isn't there.
func noGuest(node, kind string, vmid int) *apiError {
	return die("Configuration file 'nodes/%s/%s/%d.conf' does not exist", node, kind, vmid)
}

func notImplemented(method, path string) *apiError {
	return &apiError{status: http.StatusNotImplemented, text: fmt.Sprintf("Method '%s %s' not implemented", method, path)}
}

// perlText is an error as Perl prints it, which is how it ends up inside
// other texts and in task logs: exceptions show their code and all fields.
func perlText(err error) string {
	var api *apiError
	if !errors.As(err, &api) {
		return err.Error()
	}
	text := api.text
	if api.raised {
		text = fmt.Sprintf("%d %s", api.status, text)
	}
	for _, field := range slices.Sorted(maps.Keys(api.fields)) {
		text += field + ": " + api.fields[field] + "\n"
	}
	return text
}
