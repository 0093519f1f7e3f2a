package pve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
)

// consoleServer speaks the protocol of termproxy behind a websocket: who logs in gets an OK, and
// then all that is typed comes back in brackets.
func consoleServer(t *testing.T, greeting string) (Config, *recorder) {
	const ticket = "PVEVNC:66F0AA00::c2lnbmF0dXJl+/=="
	h := &recorder{answer: func(w http.ResponseWriter, s seen) {
		answerData(w, map[string]any{"port": "5901", "ticket": ticket, "user": "tester@pve!ci", "upid": ""})
	}}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/api2/json/nodes/pve1/qemu/100/vncwebsocket", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" || r.URL.Query().Get("port") != "5901" || r.URL.Query().Get("vncticket") != ticket {
			answerMessage(w, http.StatusUnauthorized, "permission denied - invalid PVEVNC ticket")
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"binary"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		_, line, err := conn.Read(r.Context())
		if want := "tester@pve!ci:" + ticket + "\n"; err != nil || string(line) != want {
			t.Errorf("login is %q, want %q: %v", line, want, err)
		}
		_ = conn.Write(r.Context(), websocket.MessageBinary, []byte(greeting))
		for {
			_, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			kind, rest, _ := strings.Cut(string(message), ":")
			switch kind {
			case "0":
				length, text, _ := strings.Cut(rest, ":")
				if length != fmt.Sprint(len(text)) {
					t.Errorf("%q says a wrong length", message)
				}
				if text == "exit" {
					_ = conn.Close(websocket.StatusNormalClosure, "")
					return
				}
				_ = conn.Write(r.Context(), websocket.MessageBinary, []byte("["+text+"]"))
			case "1":
				_ = conn.Write(r.Context(), websocket.MessageBinary, []byte("size "+rest))
			default:
				t.Errorf("unexpected %q", message)
			}
		}
	})
	_, cfg := serve(t, mux)
	cfg.Credentials = Token("tester@pve!ci", "0123-secret")
	return cfg, h
}

func TestATerminalIsTypedOnAndRead(t *testing.T) {
	cfg, h := consoleServer(t, "OKlogin: ")
	term, err := client(t, cfg).VM("pve1", 100).Attach(t.Context(), "serial0")
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(term, got); err != nil || string(got) != want {
			t.Fatalf("got %q, want %q: %v", got, want, err)
		}
	}
	expect("login: ")
	if err := term.Resize(120, 40); err != nil {
		t.Fatal(err)
	}
	expect("size 120:40:")
	fmt.Fprint(term, "größe: 1:2")
	expect("[größe: 1:2]")
	long := strings.Repeat("x", terminalChunk+10)
	fmt.Fprint(term, long)
	expect("[" + long[:terminalChunk] + "][" + long[terminalChunk:] + "]")
	fmt.Fprint(term, "exit")
	if rest, err := io.ReadAll(term); err != nil || len(rest) > 0 {
		t.Errorf("after the end there is %q, %v", rest, err)
	}
	if got := h.requests(); len(got) != 1 || got[0] != "POST /nodes/pve1/qemu/100/termproxy" {
		t.Errorf("requests %v", got)
	}
}

// Whoever answers with a redirect gets neither the login nor the ticket sent elsewhere.
func TestAConsoleFollowsNoRedirect(t *testing.T) {
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api2/json/nodes/pve1/qemu/100/termproxy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":{"port":"5901","ticket":"PVEVNC:x","user":"tester@pve!ci","upid":""}}`)
	})
	mux.HandleFunc("GET /api2/json/nodes/pve1/qemu/100/vncwebsocket", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/caught", http.StatusFound)
	})
	_, cfg := serve(t, mux)
	cfg.Credentials = Token("tester@pve!ci", "0123-secret")
	if _, err := client(t, cfg).VM("pve1", 100).Attach(t.Context(), "serial0"); err == nil {
		t.Error("a redirect was taken for a console")
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

func TestAConsoleThatRefusesIsAnError(t *testing.T) {
	cfg, _ := consoleServer(t, "no")
	_, err := client(t, cfg).VM("pve1", 100).Attach(t.Context(), "")
	if !errors.Is(err, ErrUnauthorized) {
		t.Errorf("got %v", err)
	}
	_, err = client(t, cfg).VM("pve1", 101).Attach(t.Context(), "")
	var e *Error
	if !errors.As(err, &e) || e.Kind != ErrNotImplemented || strings.Contains(fmt.Sprintf("%v %+v", err, e), "PVEVNC") {
		t.Errorf("got %v", err)
	}
}
