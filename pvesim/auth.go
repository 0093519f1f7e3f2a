package pvesim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
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

// newTicket makes a ticket for the user, valid from now on.
func (s *Sim) newTicket(user string) (ticket, csrf string) {
	stamp := fmt.Sprintf("%08X", s.now().Unix())
	plain := "PVE:" + user + ":" + stamp
	return plain + "::" + sign(s.keys.ticket, plain), stamp + ":" + sign(s.keys.csrf, stamp+":"+user)
}

func (s *Sim) fresh(stamp string) bool {
	at, err := strconv.ParseInt(stamp, 16, 64)
	if err != nil {
		return false
	}
	age := s.now().Sub(time.Unix(at, 0))
	return age > -5*time.Minute && age < ticketLife
}

// ticketUser checks a ticket and tells whose it is.
func (s *Sim) ticketUser(ticket string) (string, bool) {
	plain, sig, ok := strings.Cut(ticket, "::")
	if !ok || !hmac.Equal([]byte(sig), []byte(sign(s.keys.ticket, plain))) {
		return "", false
	}
	parts := strings.Split(plain, ":")
	if len(parts) != 3 || parts[0] != "PVE" || !s.fresh(parts[2]) {
		return "", false
	}
	return parts[1], true
}

func (s *Sim) csrfValid(user, csrf string) bool {
	stamp, sig, ok := strings.Cut(csrf, ":")
	return ok && s.fresh(stamp) && hmac.Equal([]byte(sig), []byte(sign(s.keys.csrf, stamp+":"+user)))
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

// authenticate finds out who asks.
func (s *Sim) authenticate(a *actor, req *request) (*identity, error) {
	if open[req.method+" "+req.rel] {
		return nil, nil
	}
	id, err := s.credentials(req)
	if err != nil {
		s.load.punish(a)
		return nil, err
	}
	if m := uploadPath.FindStringSubmatch(req.rel); m != nil && req.isUpload() {
		// Checked before the file is received, and without a body.
		if err := s.need(id, "/storage/"+m[2], "Datastore.AllocateTemplate"); err != nil {
			return nil, emptyError(http.StatusForbidden, "%s", strings.TrimRight(err.Error(), "\n"))
		}
		return id, nil
	}
	if req.method != "GET" && !id.token() && !s.csrfValid(id.user, req.http.Header.Get("CSRFPreventionToken")) {
		s.load.punish(a)
		return nil, emptyError(http.StatusUnauthorized, "Permission denied - invalid csrf token")
	}
	return id, nil
}

func (s *Sim) credentials(req *request) (*identity, error) {
	h := req.http.Header
	ticket := authValue(h.Get("Cookie"), "PVEAuthCookie")
	if ticket == "" {
		ticket = authValue(h.Get("Authorization"), "PVEAuthCookie")
	}
	if ticket != "" {
		user, ok := s.ticketUser(ticket)
		if !ok || !s.userEnabled(user) {
			return nil, emptyError(http.StatusUnauthorized, "Authentication failed!")
		}
		return &identity{user: user}, nil
	}
	token := authValue(h.Get("Authorization"), "PVEAPIToken")
	if token == "" {
		return nil, emptyError(http.StatusUnauthorized, "No ticket")
	}
	full, secret, _ := strings.Cut(token, "=")
	user, name, _ := strings.Cut(full, "!")
	u := s.state.Access.Users[user]
	if u == nil || !s.userEnabled(user) {
		return nil, emptyError(http.StatusUnauthorized, "Authentication failed!")
	}
	t := u.Tokens[name]
	if t == nil || t.Secret != secret || expired(t.Expire, s.now()) {
		return nil, emptyError(http.StatusUnauthorized, "Authentication failed!")
	}
	return &identity{user: user, tokenID: name}, nil
}

func (s *Sim) userEnabled(id string) bool {
	u := s.state.Access.Users[id]
	return u != nil && u.Enable && !expired(u.Expire, s.now())
}

func expired(at int64, now time.Time) bool { return at != 0 && at <= now.Unix() }

// authValue takes "key=value" or "key value" out of a header.
func authValue(header, key string) string {
	for rest := header; rest != ""; {
		i := strings.Index(rest, key)
		if i < 0 {
			return ""
		}
		startOK := i == 0 || rest[i-1] == ' ' || rest[i-1] == '\t'
		rest = rest[i+len(key):]
		if startOK && rest != "" && (rest[0] == '=' || rest[0] == ' ') {
			v, _, _ := strings.Cut(rest[1:], ";")
			if out, err := url.PathUnescape(v); err == nil {
				return out
			}
			return v
		}
	}
	return ""
}
