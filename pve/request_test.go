package pve

import (
	"errors"
	"testing"
)

func TestEndpointsAreReadInTheirUsualForms(t *testing.T) {
	for text, want := range map[string]string{
		"pve1":                             "https://pve1:8006",
		"pve1:443":                         "https://pve1:443",
		"https://pve1":                     "https://pve1:8006",
		"https://pve1:8006/":               "https://pve1:8006",
		"https://pve1:8006/api2/json":      "https://pve1:8006",
		"https://gw.test:443/a/api2/json/": "https://gw.test:443/a",
		"[fd00::1]":                        "https://[fd00::1]:8006",
		" 10.0.0.1 ":                       "https://10.0.0.1:8006",
		"https://root:pw@pve1":             "",
		"ftp://pve1":                       "",
		"https://":                         "",
		"https://pve1?x=1":                 "",
		"https://pve 1":                    "",
	} {
		u, err := parseEndpoint(text)
		if (err == nil) != (want != "") || err == nil && u.String() != want {
			t.Errorf("%q: %v, %v", text, u, err)
		}
		if err != nil && contains(err.Error(), "pw") {
			t.Errorf("%q: the error tells the password: %v", text, err)
		}
	}
	for _, cfg := range []Config{
		{Credentials: Token("a@pve!b", "c")},
		{Endpoints: []string{"http://pve1"}, Credentials: Token("a@pve!b", "c")},
		{Endpoints: []string{"pve1"}},
		{Endpoints: []string{"pve1"}, Credentials: Token("a@pve!b", "c"), Timeout: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

func TestWritesPutTheirParametersInTheBody(t *testing.T) {
	h := answering(nil)
	_, cfg := serve(t, h)
	c := client(t, cfg)
	params := Params{"a": "1&2=3;4 5+ä", "b": 7}
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		if err := c.Call(t.Context(), method, "/nodes/pve1/x+y", params, nil); err != nil {
			t.Fatal(err)
		}
		got := h.all[len(h.all)-1]
		where, elsewhere := got.query, got.rawBody
		if method == "POST" || method == "PUT" {
			where, elsewhere = got.form, got.query.Encode()
		}
		if where.Get("a") != params["a"] || where.Get("b") != "7" || elsewhere != "" || got.path != "/nodes/pve1/x%2By" {
			t.Errorf("%s: got %+v", method, got)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		err := c.Call(t.Context(), method, "/x", Params{"password": "p"}, nil)
		if !errors.Is(err, ErrInvalid) || len(h.all) != 4 {
			t.Errorf("%s with a secret: %v", method, err)
		}
	}
	if err := c.Call(t.Context(), "PATCH", "/x", nil, nil); err == nil {
		t.Error("PATCH was sent")
	}
	for _, out := range []any{Version{}, (*Version)(nil), 5} {
		if err := c.Call(t.Context(), "GET", "/x", nil, out); err == nil {
			t.Errorf("a %T was taken for a place to put an answer", out)
		}
	}
}
