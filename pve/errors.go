package pve

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// This file is the only one that knows the texts of Proxmox. Nearly everything that goes wrong
// there is a 500 with a sentence, and a task's exit status is that sentence alone, so kinds are
// read from the sentences. Proxmox wraps causes ("clone failed: …", "unable to create VM 100 -
// …"): rules look for the innermost sentence anywhere in the text.

// answerError makes the error of an HTTP answer. The phrase beside the status is the first line
// of the message, but may have been dropped on the way; the body has it all, but may be empty.
func answerError(method, path string, status int, reason string, body []byte) *Error {
	e := &Error{Method: method, Path: path, Status: status, Reason: strings.TrimSpace(reason)}
	message, fields := errorBody(body)
	for _, text := range []string{message, e.Reason, http.StatusText(status), "unexpected answer"} {
		if e.Text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")); e.Text != "" {
			break
		}
	}
	e.Fields = fields
	e.Kind = e.classify()
	if isWrite(method) && outcomeUnknown(status) {
		e.also = append(e.also, e.Kind)
		e.Kind = ErrUnknownOutcome
	}
	return e
}

// exitError makes the error of a task's exit status.
func exitError(upid UPID, exitStatus string, log []string) *TaskError {
	cause := &Error{Text: strings.TrimSpace(exitStatus)}
	cause.Kind = cause.classify()
	e := &TaskError{UPID: upid, ExitStatus: cause.Text, Log: log, cause: cause}
	e.readLog()
	return e
}

// errorBody reads the body of an error: usually {"message":…,"errors":{field:text}}, plain text
// from the HTTP layer, nothing at all on 401 and 595, or some HTML page of a reverse proxy.
func errorBody(body []byte) (message string, fields map[string]string) {
	var top any
	if err := unmarshalNumbers(body, &top); err != nil {
		text := strings.ToValidUTF8(strings.TrimSpace(string(body)), "\uFFFD")
		// A wrong endpoint may be anybody's server, whose pages are none of the business of
		// those who read errors: of plain text only what is known as Proxmox's own is repeated.
		if known := (&Error{Text: text}).classify(); known == ErrUnknown || strings.HasPrefix(text, "<") || len(text) > 4096 {
			return "", nil
		}
		return text, nil
	}
	object, ok := top.(map[string]any)
	if _, envelope := object["data"]; !ok || !envelope {
		return "", nil // Proxmox always has it, beside what went wrong
	}
	message, _ = object["message"].(string)
	if errors, ok := object["errors"].(map[string]any); ok && len(errors) > 0 {
		fields = make(map[string]string, len(errors))
		for name, text := range errors {
			fields[name] = strings.TrimSpace(scalarText(text))
		}
	}
	return message, fields
}

// outcomeUnknown says for which statuses a write may have been done all the same: somebody
// between us and the node that does it passed it on and got no answer. 595 isn't among them:
// Proxmox gives it when it couldn't even connect.
func outcomeUnknown(status int) bool {
	return status >= 596 && status <= 599 || isGateway(status)
}

func isGateway(status int) bool { return status >= 502 && status <= 504 }

// classify finds the kind and fills in the details that go with it.
func (e *Error) classify() Kind {
	switch {
	case e.Status == http.StatusUnauthorized:
		return ErrUnauthorized
	case e.Status >= 595 && e.Status <= 599:
		return ErrNodeUnreachable
	case isGateway(e.Status):
		return ErrConnection
	case len(e.Fields) > 0:
		return e.classifyFields()
	}
	kind := e.classifyText(e.Text)
	switch {
	case e.Status == http.StatusForbidden && kind != ErrForbidden && kind != ErrRootOnly:
		if kind != ErrNotFound {
			return ErrForbidden
		}
		e.also = append(e.also, ErrForbidden)
	case e.Status == http.StatusNotFound:
		// Proxmox never gives it, so this is somebody else's: nothing is known to be missing.
		return ErrUnknown
	case e.Status == http.StatusBadRequest && kind == ErrUnknown:
		return ErrInvalid
	case (e.Status == http.StatusNotImplemented || e.Status == http.StatusVariantAlsoNegotiates) && kind != ErrInvalid:
		return ErrNotImplemented
	}
	return kind
}

// classifyFields handles "Parameter verification failed.": mostly a wrong request, but Proxmox
// also says in this way that something exists, is missing, or is for root.
func (e *Error) classifyFields() Kind {
	kind := Kind("")
	for _, name := range sortedKeys(e.Fields) {
		k := e.classifyText(e.Fields[name])
		if kind == "" {
			kind = k
		}
		if k != kind {
			return ErrInvalid
		}
	}
	if !slices.Contains([]Kind{ErrExists, ErrNotFound, ErrRootOnly, ErrNotRunning, ErrHotplug}, kind) {
		return ErrInvalid
	}
	e.also = append(e.also, ErrInvalid)
	return kind
}

func (e *Error) classifyText(text string) Kind {
	for _, rule := range textRules {
		m := rule.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		switch rule.kind {
		case ErrLocked:
			e.Lock = m[1]
		case ErrLockTimeout:
			e.LockFile = m[1]
		case ErrForbidden:
			e.readPermission(text)
		case ErrNotFound, ErrExists:
			e.Subject = subjectOf(text)
		case ErrAgentNotConfigured:
			e.also = append(e.also, ErrAgentNotRunning)
		case ErrURL:
			e.also = append(e.also, ErrDownload)
		case ErrIgnored:
			e.also = append(e.also, ErrTimeout)
		case ErrHotplug:
			e.also = append(e.also, ErrInvalid)
		case ErrNoSnapshots, ErrSnapshots, ErrTooManyCPUs:
			e.also = append(e.also, ErrRefused)
		case ErrAgent:
			if k := e.classifyText(strings.TrimPrefix(text, "Agent error: ")); k == ErrNotFound {
				e.also = append(e.also, k)
			}
		}
		return rule.kind
	}
	return ErrUnknown
}

type textRule struct {
	kind    Kind
	pattern *regexp.Regexp
}

func rule(kind Kind, pattern string) textRule {
	return textRule{kind, regexp.MustCompile(pattern)}
}

// textRules are tried in this order; the first that matches says the kind.
var textRules = []textRule{
	rule(ErrIgnored, `VM quit/powerdown failed`),
	rule(ErrLocked, `\b(?:VM|CT)(?: \d+)? is locked(?: \(([^)]*)\))?`),
	// Without a quorum the cluster's filesystem can't be written to, by root either.
	rule(ErrNoQuorum, `\bno quorum\b|\blost quorum\b|cluster not ready|/etc/pve/\S+ - Permission denied`),
	rule(ErrLockTimeout, `(?i)can't (?:lock file|acquire lock) '([^']*)'`),
	rule(ErrLockTimeout, `cfs[- ]lock(?:ed)? '([^']*)'.*got lock request timeout`),
	rule(ErrLockTimeout, `()(?:got lock (?:request )?timeout|[Uu]nable to ac?quire lock|Failed to obtain guest migration lock)`),
	rule(ErrModified, `detected modified configuration|file changed? by other user`),
	rule(ErrChecksum, `checksum mismatch: got|checksum .* does not match`),

	rule(ErrAgentNotConfigured, `(?i)no QEMU guest agent configured`),
	rule(ErrAgent, `^Agent error: `),
	rule(ErrAgentNotRunning, `(?i)guest agent is not running|\bqga (?:command|socket)\b.*(?:timeout|unable to connect)`),

	rule(ErrNotRunning, `(?i)\b(?:VM|CT)(?: \d+)? (?:is )?not running\b|\bmust be running\b`),
	rule(ErrRunning, `(?i)\b(?:VM|CT)(?: \d+)? (?:is|already|is already) running\b`),

	rule(ErrRootOnly, `(?i)\bonly root(?:@pam)? (?:can|may|is allowed)\b|user != root@pam|\broot-only command\b`),
	rule(ErrNotFound, `^Permission check failed \(.* does not exist\)`),
	rule(ErrForbidden, `(?:^|\b403 )Permission check failed|(?i)\bpermission denied\b|\bno permission \(|\bmissing privileges\b`),

	rule(ErrNoSpace, `(?i)\bno space left\b|\bnot enough (?:free )?space\b|\binsufficient (?:free )?(?:space|extents)\b`+
		`|\bout of space\b|\bquota exceeded\b|\bfree space in thin pool .* reached threshold`),

	rule(ErrURL, `^invalid server response: '4(?:04|10)\b`),
	rule(ErrDownload, `^invalid server response: '`),
	rule(ErrInvalid, `^(?i)(?:invalid|duplicate)\b|(?:^|failed: )(?:no such|unknown) (?:option|\w+ option|resource type|section type)\b`),
	rule(ErrExists, `(?i)\balready (?:exists?|defined|used|in use|registered|a pool member)\b`+
		`|refusing to over(?:ride|write) existing|\bFile exists\b`),
	rule(ErrNotFound, `(?i)\bdoes not exist\b|\bdoesn't exist\b|\bno such\b|\bnot found\b|\bunable to find\b|\bcould not find\b`+
		`|\bnon-existent\b|\bno rule at position\b|\bunmanaged resource|can't find file|\bfailed to stat '|\bfailed - no format\b|\bnot HA managed\b|\bis not a pool member\b`+
		`|\bhostname lookup '|did not find any IP address`),

	rule(ErrHotplug, `\bhotplug problem - `),
	rule(ErrDownload, `^download failed\b`),
	rule(ErrInterrupted, `(?i)received interrupt|interrupted by (?:\w+ )?signal|got signal|^unexpected status$`+
		`|unable to get last line from task log|has been cancelled|^migration aborted|^broken pipe`),
	rule(ErrNodeUnreachable, `(?i)\bno route to host\b|\bconnection refused\b|\bconnection timed out\b|\bhost is down\b`+
		`|\bnetwork is unreachable\b|can't connect to destination address`),
	rule(ErrTimeout, `(?i)\bgot timeout\b|\btimed out\b|\btimeout\b`),

	rule(ErrInvalid, `(?i)(?:^|\b400 )Parameter verification failed|\billegal name\b|\btoo large\b|\bunexpected property\b|\bcontains a line feed\b`+
		`|\bdoes not match\b|\bset and delete\b|\bdelete required\b|\bspecified \d+ times\b|\bboundary rule broken\b|\bmixed ipv4/ipv6\b`+
		`|\bmissing \S+ option\b|\bcannot be used together\b|\binvalid\b|\bmalformed\b|\bunable to parse\b|\bformat error\b`+
		`|\bvalidation error\b|expected, at character offset|Not an? \w+ reference|\bmissing value for\b|\bno options specified\b`+
		`|\bgot undefined value\b|\bwrong field name\b|\bnot in \w+ format\b|\bdata too large\b|\bproperty is missing\b`),

	rule(ErrNoSnapshots, `^snapshot feature is not available$`),
	rule(ErrSnapshots, `\bif snapshot exists\b|volume is still in use \(snapshot\?\)|\bcontains snapshots\b`),
	rule(ErrTooManyCPUs, `^MAX \d+ vcpus allowed per VM on this node`),
	rule(ErrRefused, `(?i)protection mode enabled|\bis disabled\b|\bbelongs already to\b|\bis used by\b|\bis not a (?:VM|container)\b|\bnot installed\b`+
		`|\bcan't be moved\b|\bonly backups can\b|\bprotected\b|\bnot supported\b|\bunsupported\b|\bdoes not support\b|\bnot allowed\b`+
		`|\bnot available\b|\byou can't\b|\bcan't (?:clone|migrate|remove|rollback|resize|snapshot|upload|unplug|create base)\b`+
		`|\bcannot (?:be (?:deleted|modified|removed|resumed)|move|clone|migrate|live-migrate|remote-migrate|suspend|import from|change|`+
		`index|read|create|update|delete|add) ?\b|\bnot empty\b|\bstill in use\b|\bused in HA\b|\breserved name\b|\bcontains snapshots\b`+
		`|\balready attached\b|\bno spice port\b|\bis a template\b|\bVM is paused\b|\breplication job\b|\bnot possible\b|\bneed to be on the same node\b`),
}

var (
	permission = regexp.MustCompile(`(?:Permission check failed|no permission) \((/[^,]*), (.+?)\)?$`)
	privilege  = regexp.MustCompile(`[A-Z][A-Za-z]*(?:\.[A-Z][A-Za-z]*)+`)
)

// readPermission takes path and privileges from "Permission check failed (/vms/100, A|B)".
func (e *Error) readPermission(text string) {
	m := permission.FindStringSubmatch(text)
	if m == nil {
		return
	}
	e.PermPath = m[1]
	e.Privs = privilege.FindAllString(m[2], -1)
	e.AnyPriv = strings.Contains(m[2], "|")
}

// subjects find what a text is about, most telling first. The first group is the type, or
// empty for a VM; the last one is the name.
var subjects = []*regexp.Regexp{
	regexp.MustCompile(`Configuration file 'nodes/[^/']+/(?:qemu-server|lxc)/()(\d+)\.conf' does not exist`),
	regexp.MustCompile(`unable to find configuration file for ()(?:VM|CT) (\d+)`),
	regexp.MustCompile(`()\b(?:VM|CT) (\d+) already exists`),
	regexp.MustCompile(`unable to create ()(?:VM|CT) (\d+): config file already exists`),
	regexp.MustCompile(`could not find (?:target )?()(?:VM|CT) (\d+)`),
	regexp.MustCompile(`(\w+)(?: ID| name| image)? '([^']+)' (?:does not exist|already exists|already defined|already used)`),
	regexp.MustCompile(`(?i)no such (?:cluster |ha |security |logical )?(\w+) \(?'([^']+)'`),
	regexp.MustCompile(`(\w+) (?:ID )?(\S+) does not exist`),
	regexp.MustCompile(`(?i)no such (\w+)()`),
	regexp.MustCompile(`()hostname lookup '([^']+)'`),
	regexp.MustCompile(`refusing to override existing (file) '([^']+)'`),
	regexp.MustCompile(`^(Token) already exists()`),
}

func subjectOf(text string) string {
	for i, pattern := range subjects {
		if m := pattern.FindStringSubmatch(text); m != nil {
			kind := strings.ToLower(m[1])
			switch {
			case i < 5:
				kind = "vm"
			case kind == "":
				kind = "node"
			}
			return strings.TrimSpace(kind + " " + m[2])
		}
	}
	return ""
}

func isWrite(method string) bool { return method != http.MethodGet }
