// Package rawapi reads and writes the Proxmox API with nothing but net/http,
// so that what a client library says it did can be checked without it.
package rawapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client talks to one Proxmox with a ticket.
type Client struct {
	base   string
	http   *http.Client
	ticket string
	csrf   string
}

// Login gets a ticket for the user. The server's certificate is not verified:
// it is a simulator on this machine.
func Login(ctx context.Context, base, user, password string) (*Client, error) {
	c := &Client{
		base: strings.TrimRight(base, "/") + "/api2/json",
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}},
	}
	var answer struct {
		Ticket string `json:"ticket"`
		CSRF   string `json:"CSRFPreventionToken"`
	}
	err := c.Do(ctx, http.MethodPost, "/access/ticket", url.Values{"username": {user}, "password": {password}}, &answer)
	if err != nil {
		return nil, err
	}
	c.ticket, c.csrf = answer.Ticket, answer.CSRF
	return c, nil
}

// Get decodes the data of a GET into v.
func (c *Client) Get(ctx context.Context, path string, v any) error {
	return c.Do(ctx, http.MethodGet, path, nil, v)
}

// Do sends a form and decodes the answer's data into v unless that is nil.
func (c *Client) Do(ctx context.Context, method, path string, form url.Values, v any) error {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if c.ticket != "" {
		req.AddCookie(&http.Cookie{Name: "PVEAuthCookie", Value: url.QueryEscape(c.ticket)})
		req.Header.Set("CSRFPreventionToken", c.csrf)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, raw)
	}
	if v == nil {
		return nil
	}
	answer := struct {
		Data any `json:"data"`
	}{Data: v}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}

// Object is a JSON object whose values are compared as text: Proxmox sends
// some numbers as strings.
type Object map[string]any

// Text gives the value as people write it; a missing one is empty.
func (o Object) Text(key string) string {
	switch v := o[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%f", v), "0"), ".")
	default:
		return fmt.Sprint(v)
	}
}

// Has reports whether the key is there.
func (o Object) Has(key string) bool {
	_, ok := o[key]
	return ok
}

// VM reads a VM's config.
func (c *Client) VM(ctx context.Context, node string, vmid int) (Object, error) {
	var config Object
	return config, c.Get(ctx, fmt.Sprintf("/nodes/%s/qemu/%d/config", node, vmid), &config)
}

// Status reads a VM's current status.
func (c *Client) Status(ctx context.Context, node string, vmid int) (Object, error) {
	var status Object
	return status, c.Get(ctx, fmt.Sprintf("/nodes/%s/qemu/%d/status/current", node, vmid), &status)
}
