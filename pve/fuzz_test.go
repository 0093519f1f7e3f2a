package pve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// FuzzNoAnswerBringsTheClientDown answers each call of this package with any bytes,
// in place of the status line, the headers and the body. It ends, and what it says
// names no secret, whatever the answer repeats.
func FuzzNoAnswerBringsTheClientDown(f *testing.F) {
	whole := func(status int, reason, header, body string) []byte {
		return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json;charset=UTF-8\r\n%sContent-Length: %d\r\n\r\n%s", status, reason, header, len(body), body)
	}
	bodies := []string{
		`{"data":null}`, `{"data":[]}`, `{"data":{}}`, `{"data":"UPID:pve1:00000891:000A659C:6AF91910:qmclone:100:ci@pve!t:"}`, `{"data":"UPID:"}`, `{"data":1e999}`, `{"data":{"a":{"a":[[[]]]}}}`,
		`{"data":{"status":"stopped","exitstatus":"got signal 9"}}`, `{"data":[{"vmid":"x","type":"qemu","maxmem":-1,"tags":";;"}],"total":-1}`, `{"errors":{"vmid":1},"message":7}`, "", "null", "[]", "\xff\xfe", "<html>",
		`{"data":` + strings.Repeat("[", 2000), fuzzSecret, "PVEAPIToken=ci@pve!t=" + fuzzSecret,
	}
	for i := range apiCalls {
		f.Add(i, whole(200, "OK", "", bodies[i%len(bodies)]))
	}
	for i, body := range bodies {
		f.Add(i, whole(500, "unable to parse "+body, "", `{"data":null,"message":"`+body+`"}`))
	}
	f.Add(0, []byte("HTTP/1.1 595 No route to host\r\n\r\n"))
	f.Add(1, []byte("HTTP/1.1 401\r\nContent-Length: 9999999999\r\n\r\n{"))
	f.Add(2, whole(301, "Moved", "Location: https://evil.example/\r\n", ""))
	f.Add(3, whole(429, "Slow", "Retry-After: -1\r\n", ""))
	f.Add(4, whole(200, "OK", "Content-Encoding: gzip\r\n", "\x1f\x8b\x08"))
	f.Add(5, whole(200, "OK", "Set-Cookie: PVEAuthCookie="+fuzzSecret+"\r\n", `{"data":{"ticket":7}}`))
	f.Add(6, []byte("\x00\x00"))
	f.Add(7, []byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"))
	f.Fuzz(func(t *testing.T, call int, answer []byte) {
		made := apiCalls[(call%len(apiCalls)+len(apiCalls))%len(apiCalls)]
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			transport := &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return somebodyWhoSays(answer), nil }}
			defer transport.CloseIdleConnections()
			c := client(t, Config{Endpoints: []string{"https://pve1"}, Credentials: Token("ci@pve!t", fuzzSecret), RoundTripper: transport, Rand: func() float64 { return 0.5 }})
			defer c.Close()
			if err := made.make(ctx, c, 9); err != nil && strings.Contains(err.Error(), fuzzSecret) {
				t.Errorf("%s: %v", made.name, err)
			}
		})
	})
}

const fuzzSecret = "0b8c1d5e-0000-4000-8000-5ec2e75ec2e7"

// somebodyWhoSays is a connection to somebody who reads a request, says the same to
// whoever asks and hangs up.
func somebodyWhoSays(answer []byte) net.Conn {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		req, err := http.ReadRequest(bufio.NewReader(theirs))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		_, _ = theirs.Write(answer) // the client may not want all of it
	}()
	return ours
}
