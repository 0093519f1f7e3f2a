package pvesim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// authKeys sign tickets and CSRF tokens.
type authKeys struct{ ticket, csrf []byte }

func newAuthKeys(seed uint64) authKeys {
	key := func(use string) []byte {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], seed)
		sum := sha256.Sum256(append(b[:], use...))
		return sum[:]
	}
	return authKeys{ticket: key("ticket"), csrf: key("csrf")}
}

func sign(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}

// Proxmox accepts tickets from clocks that are a little ahead of its own.
const clockGrace = 5 * time.Minute

// newTicket makes a ticket for the user, valid from now on.
func (s *Sim) newTicket(user string) (ticket, csrf string) {
	stamp := s.stamp()
	return s.signTicket("PVE:"+user+":"+stamp, ""), stamp + ":" + sign(s.keys.csrf, stamp+":"+user)
}

func (s *Sim) stamp() string { return fmt.Sprintf("%08X", s.now().Unix()) }

// signTicket signs a ticket's text together with what it is bound to.
func (s *Sim) signTicket(plain, bound string) string {
	return plain + "::" + sign(s.keys.ticket, plain+"\x00"+bound)
}

// fresh reports whether a time stamp is neither too old nor too far ahead.
func (s *Sim) fresh(stamp string, grace, life time.Duration) bool {
	at, err := strconv.ParseInt(stamp, 16, 64)
	if err != nil {
		return false
	}
	age := s.now().Truncate(time.Second).Sub(time.Unix(at, 0))
	return age > -grace && age < life
}

// ticketParts checks a ticket's signature and takes it apart.
func (s *Sim) ticketParts(ticket, bound string) ([]string, bool) {
	plain, _, ok := strings.Cut(ticket, "::")
	if !ok || !hmac.Equal([]byte(ticket), []byte(s.signTicket(plain, bound))) {
		return nil, false
	}
	return strings.Split(plain, ":"), true
}

// ticketUser checks a ticket and tells whose it is.
func (s *Sim) ticketUser(ticket string) (string, bool) {
	parts, ok := s.ticketParts(ticket, "")
	if !ok || len(parts) != 3 || parts[0] != "PVE" || !s.fresh(parts[2], clockGrace, ticketLife) {
		return "", false
	}
	return parts[1], true
}

// vncTicket makes a console ticket: good for a path and port, and for
// seconds only.
func (s *Sim) vncTicket(who, path, port string) string {
	return s.signTicket("PVEVNC:"+s.stamp(), who+":"+path+":"+port)
}

var passwordBefore = regexp.MustCompile(`^.{8}:(PVEVNC:.*)$`)

func (s *Sim) vncTicketValid(ticket, who, path, port string) bool {
	if m := passwordBefore.FindStringSubmatch(ticket); m != nil {
		ticket = m[1]
	}
	parts, ok := s.ticketParts(ticket, who+":"+path+":"+port)
	return ok && len(parts) == 2 && parts[0] == "PVEVNC" && s.fresh(parts[1], 20*time.Second, 40*time.Second)
}

func (s *Sim) csrfValid(user, csrf string) bool {
	stamp, sig, ok := strings.Cut(csrf, ":")
	return ok && s.fresh(stamp, clockGrace, ticketLife) && hmac.Equal([]byte(sig), []byte(sign(s.keys.csrf, stamp+":"+user)))
}

// noTokens is the answer to a token where only tickets are taken.
func noTokens(uri string) error {
	return denied("URI '" + uri + "' not available with API token, need proper ticket.\n")
}

// open are the calls that need no credentials.
var open = map[string]bool{
	"GET /access/domains":          true,
	"GET /access/ticket":           true,
	"POST /access/ticket":          true,
	"POST /access/vncticket":       true,
	"POST /access/openid/login":    true,
	"POST /access/openid/auth-url": true,
}

var uploadPath = regexp.MustCompile(`^/nodes/([^/]+)/storage/([^/]+)/upload$`)

func (r *request) isUpload() bool { return r.method == "POST" && uploadPath.MatchString(r.rel) }

// authenticate finds out who asks. Every failure is answered with a delay.
func (s *Sim) authenticate(a *actor, req *request) (*access.Identity, error) {
	if ep := s.schema.Lookup(req.method, req.rel); ep != nil && open[ep.String()] {
		if h := req.http.Header; !ep.AllowToken && ticketIn(h) == "" && tokenIn(h) != "" {
			return nil, noTokens(req.rel)
		}
		return nil, nil
	}
	id, err := s.authorize(req)
	if err != nil {
		a.punish()
		return nil, err
	}
	return id, nil
}

func (s *Sim) authorize(req *request) (*access.Identity, error) {
	id, err := s.credentials(req.http.Header)
	if err != nil {
		if req.format == "html" {
			return nil, &apiError{status: http.StatusUnauthorized, text: "Login Required", bare: true}
		}
		return nil, err
	}
	if m := uploadPath.FindStringSubmatch(req.rel); m != nil && req.isUpload() {
		// Checked before the file is received, and answered without a body.
		if err := s.need(id, access.CleanPath("/storage/"+m[2]), "Datastore.AllocateTemplate"); err != nil {
			return nil, emptyError(http.StatusForbidden, "%s", err.Error())
		}
		return id, nil
	}
	if req.method != "GET" && !id.Token() && !s.csrfValid(id.User, req.http.Header.Get("CSRFPreventionToken")) {
		return nil, emptyError(http.StatusUnauthorized, "Permission denied - invalid csrf token")
	}
	return id, nil
}

// credentials takes a ticket from the cookie or the Authorization header, or
// else an API token from the latter.
func (s *Sim) credentials(h http.Header) (*access.Identity, error) {
	if ticket := ticketIn(h); ticket != "" {
		user, ok := s.ticketUser(ticket)
		if !ok || s.userEnabled(user) != nil {
			return nil, emptyError(http.StatusUnauthorized, "Authentication failed!")
		}
		return &access.Identity{User: user}, nil
	}
	token := tokenIn(h)
	if token == "" {
		return nil, emptyError(http.StatusUnauthorized, "No ticket")
	}
	if id := s.tokenUser(token); id != nil {
		return id, nil
	}
	return nil, emptyError(http.StatusUnauthorized, "Authentication failed!")
}

// ticketIn finds a ticket; the cookie wins.
func ticketIn(h http.Header) string {
	if ticket := authValue(h, "Cookie", "PVEAuthCookie"); ticket != "" {
		return ticket
	}
	return authValue(h, "Authorization", "PVEAuthCookie")
}

// tokenIn finds an API token.
func tokenIn(h http.Header) string { return authValue(h, "Authorization", "PVEAPIToken") }

// tokenUser checks user@realm!token=secret and tells whose it is.
func (s *Sim) tokenUser(token string) *access.Identity {
	cut := strings.LastIndexByte(token, '=')
	if cut < 0 || !tokenName.MatchString(token[:cut]) {
		return nil
	}
	id := access.ParseIdentity(token[:cut])
	if s.userEnabled(id.User) != nil {
		return nil
	}
	t := s.findToken(id)
	if t == nil || expired(t.Expire, s.now()) || !hmac.Equal([]byte(t.Secret), []byte(token[cut+1:])) {
		return nil
	}
	return id
}

var authValues = map[string]*regexp.Regexp{
	"PVEAuthCookie": regexp.MustCompile(`(?:^|\s)PVEAuthCookie(?:=| )([^;]*)`),
	"PVEAPIToken":   regexp.MustCompile(`(?:^|\s)PVEAPIToken(?:=| )([^;]*)`),
}

// authValue takes "key=value" or "key value" out of a header; "0" counts as
// nothing.
func authValue(h http.Header, name, key string) string {
	text := strings.Join(h.Values(name), ", ")
	if !strings.Contains(text, key) {
		return ""
	}
	m := authValues[key].FindStringSubmatch(text)
	if m == nil || m[1] == "0" {
		return ""
	}
	return percentDecode(m[1])
}

// percentDecode decodes %XX; what isn't a valid escape stays as it is.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}
