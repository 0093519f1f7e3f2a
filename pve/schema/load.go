package schema

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed" // the schema files
	"encoding/json"
	"fmt"
	"io"
)

//go:embed data/pve-9.2.json.gz
var data92 []byte

//go:embed data/pve-8.4.jsonl.gz
var data84 []byte

// rawEndpoint is an operation in either file: 9.2 has parameters, 8.4 params.
type rawEndpoint struct {
	Method      string
	Path        string
	Name        string
	Protected   flag
	ProxyTo     string
	AllowToken  flag
	Permissions Permissions
	Parameters  *rawParam
	Params      map[string]*rawParam
	Additional  flag
	Returns     json.RawMessage
}

func load92() (*Schema, error) {
	data, err := unzip(data92)
	if err != nil {
		return nil, err
	}
	var file struct {
		Version   struct{ Release, Version, RepoID string }
		Formats   map[string]formatKeys
		Endpoints []*rawEndpoint
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	s := &Schema{
		Release: file.Version.Release, Version: file.Version.Version, RepoID: file.Version.RepoID,
	}
	s.setFormats(file.Formats)
	return s, s.build(file.Endpoints)
}

// setFormats takes the property-string formats; the others are checked by code.
func (s *Schema) setFormats(raw map[string]formatKeys) {
	s.rawFormats = raw
	s.formats, s.named = map[string]*PropFormat{}, map[string]*Format{}
	for name, keys := range raw {
		if keys != nil {
			s.formats[name] = s.propFormat(name, keys)
		}
	}
	s.setFacts()
}

// load84 reads the older file, which names formats but doesn't spell them out
// and has no index bounds: both come from 9.2, less what 8.4 hadn't yet.
func load84() (*Schema, error) {
	newer, err := newest()
	if err != nil {
		return nil, err
	}
	data, err := unzip(data84)
	if err != nil {
		return nil, err
	}
	var ops []*rawEndpoint
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		op := &rawEndpoint{}
		if err := json.Unmarshal(lines.Bytes(), op); err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	s := &Schema{
		Release: "8.4", Version: "8.4.1", RepoID: "2a5fa54a8503f96d",
	}
	s.setFormats(formats84(newer.rawFormats, ops))
	if err := s.build(ops); err != nil {
		return nil, err
	}
	for _, ep := range s.endpoints {
		for name, p := range ep.Params {
			if !p.family {
				continue
			}
			p.Index = newer.familyIndex(name)
		}
	}
	return s, nil
}

// familyIndex finds the bounds of a family such as net[n].
func (s *Schema) familyIndex(name string) [2]int {
	for _, ep := range s.endpoints {
		if p := ep.Params[name]; p != nil {
			return p.Index
		}
	}
	return [2]int{}
}

// apiRoot is the index of the whole API, which Proxmox' dump leaves out. Find
// and Lookup know it, Endpoints doesn't list it.
var apiRoot = &rawEndpoint{
	Method: "GET", Path: "/", Name: "index", AllowToken: true,
	Permissions: Permissions{User: "all"},
	Parameters:  &rawParam{Properties: map[string]*rawParam{}, AdditionalProperties: new(flag)},
	Returns: json.RawMessage(`{"items":{"properties":{"subdir":{"type":"string"}},"type":"object"},` +
		`"links":[{"href":"{subdir}","rel":"child"}],"type":"array"}`),
}

func (s *Schema) build(ops []*rawEndpoint) error {
	s.byKey = make(map[string]*Endpoint, len(ops))
	for _, op := range append(ops, apiRoot) {
		ep := &Endpoint{
			Method: op.Method, Path: op.Path, Name: op.Name,
			Protected: bool(op.Protected), ProxyTo: op.ProxyTo, AllowToken: bool(op.AllowToken),
			Permissions: op.Permissions, Returns: op.Returns,
			schema: s,
		}
		raw := op.Parameters
		if raw == nil {
			raw = &rawParam{Properties: op.Params, AdditionalProperties: &op.Additional}
		}
		ep.root = s.param("", raw)
		ep.Params = map[string]*Param{}
		ep.root.collect(ep.Params)
		ep.AdditionalProperties = ep.root.open
		if s.byKey[ep.String()] != nil {
			return fmt.Errorf("%s is there twice", ep)
		}
		s.byKey[ep.String()] = ep
		s.endpoints = append(s.endpoints, ep)
	}
	s.root = buildTree(s.endpoints)
	s.endpoints = s.endpoints[:len(ops)]
	for name := range s.named {
		s.named[name] = s.makeFormat(name)
	}
	return nil
}

func unzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
