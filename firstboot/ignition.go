package firstboot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/util"
	v3_0 "github.com/coreos/ignition/v2/config/v3_0"
	v3_1 "github.com/coreos/ignition/v2/config/v3_1"
	v3_2 "github.com/coreos/ignition/v2/config/v3_2"
	v3_3 "github.com/coreos/ignition/v2/config/v3_3"
	v3_4 "github.com/coreos/ignition/v2/config/v3_4"
	v3_5 "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/vcontext/report"
)

// A spec is a version of Ignition's configs. Each has types of its own, so that
// configs are merged in the version that the guest is to read: it need not know a
// newer one.
type spec struct {
	parse func(raw []byte) (report.Report, error)
	merge func(parent, child []byte) ([]byte, error)
}

// specs are the versions that are stable, oldest first: specs[4] is 3.4.0.
var specs = []spec{
	specOf(v3_0.Parse, v3_0.Merge),
	specOf(v3_1.ParseCompatibleVersion, v3_1.Merge),
	specOf(v3_2.ParseCompatibleVersion, v3_2.Merge),
	specOf(v3_3.ParseCompatibleVersion, v3_3.Merge),
	specOf(v3_4.ParseCompatibleVersion, v3_4.Merge),
	specOf(v3_5.ParseCompatibleVersion, v3_5.Merge),
}

func specOf[C any](parse func([]byte) (C, report.Report, error), merge func(parent, child C) C) spec {
	return spec{
		parse: func(raw []byte) (report.Report, error) { _, r, err := parse(raw); return r, err },
		merge: func(parent, child []byte) ([]byte, error) {
			a, r, err := parse(parent)
			if err != nil {
				return nil, reported(r, err)
			}
			b, r, err := parse(child)
			if err != nil {
				return nil, reported(r, err)
			}
			return json.Marshal(merge(a, b))
		},
	}
}

// isIgnition reports whether a text is an Ignition config.
func isIgnition(text string) bool {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") || !strings.Contains(text, `"ignition"`) {
		return false
	}
	var head struct {
		Ignition json.RawMessage `json:"ignition"`
	}
	return json.Unmarshal([]byte(text), &head) == nil && head.Ignition != nil
}

// CheckIgnition checks a config as Ignition itself does, with warnings as errors, since
// Ignition would leave out such parts. It returns the config's version, such as "3.4.0".
func CheckIgnition(text string) (version string, err error) {
	minor, err := ignitionMinor([]byte(text))
	if err != nil {
		return "", err
	}
	r, err := specs[minor].parse([]byte(text))
	if err = reported(r, err); err != nil {
		return "", err
	}
	return fmt.Sprintf("3.%d.0", minor), nil
}

// ignitionMinor finds out which of the versions a config is of.
func ignitionMinor(raw []byte) (int, error) {
	if err := jsonProblem(raw); err != nil {
		return 0, err
	}
	version, r, err := util.GetConfigVersion(raw)
	switch {
	case errors.Is(err, ignerrors.ErrInvalidVersion):
		return 0, &TextError{Text: `it has no "ignition": {"version": "3.4.0"} or the like`}
	case err != nil:
		return 0, reported(r, err)
	case version.Major == 3 && version.PreRelease == "" && int(version.Minor) < len(specs) && version.Patch == 0:
		return int(version.Minor), nil
	case version.PreRelease != "":
		return 0, &TextError{Text: fmt.Sprintf("version %s isn't stable: a later Ignition won't read it", version.String())}
	}
	return 0, &TextError{Text: fmt.Sprintf("version %s isn't known; known are 3.0.0 to 3.%d.0", version.String(), len(specs)-1)}
}

// MergeIgnition merges a config into another: entries of the second are added, and replace
// the same entries of the first (files by path, users and units by name). The result has
// the newer version of both.
func MergeIgnition(parent, child string) (string, error) {
	a, err := ignitionMinor([]byte(parent))
	if err != nil {
		return "", err
	}
	b, err := ignitionMinor([]byte(child))
	if err != nil {
		return "", err
	}
	merged, err := specs[max(a, b)].merge([]byte(parent), []byte(child))
	if err != nil {
		return "", err
	}
	_, err = CheckIgnition(string(merged)) // two good ones may contradict each other
	return string(merged), err
}

// NewerIgnition reports whether a version of configs is newer than another one.
// What isn't a version is never newer.
func NewerIgnition(version, than string) bool {
	var a, b, major int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &a); n != 2 {
		return false
	}
	if n, _ := fmt.Sscanf(than, "%d.%d", &major, &b); n != 2 {
		return false
	}
	return a > b
}

// reported are the problems of a report, which is where Ignition and Butane say
// what is wrong; the error only says that something is.
func reported(r report.Report, err error) error {
	var out TextErrors
	for _, e := range r.Entries {
		if e.Kind != report.Error && e.Kind != report.Warn {
			continue
		}
		p := &TextError{Text: e.Message}
		if at := e.Context.String(); at != "$" {
			p.Text = strings.TrimPrefix(at, "$.") + ": " + e.Message
		}
		if m := e.Marker; m.StartP != nil {
			p.Line, p.Column = int(m.StartP.Line), int(m.StartP.Column)
		}
		out = append(out, p)
	}
	if len(out) == 0 && err != nil {
		return err
	}
	return out.orNil()
}

// jsonProblem says where a text stops being JSON; nil: nowhere.
func jsonProblem(raw []byte) error {
	err := json.Unmarshal(raw, new(any))
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	line, column := position(string(raw), int(syntax.Offset))
	return &TextError{line, column, "this isn't JSON: " + syntax.Error()}
}
