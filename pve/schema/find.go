package schema

import (
	"maps"
	"slices"
	"strings"
)

// folder is a step of a path in the tree of all paths.
type folder struct {
	sub     map[string]*folder // literal names
	param   *folder            // {name}
	name    string             // of the parameter that leads here
	rest    bool               // what follows is one name, slashes and all
	methods map[string]*Endpoint
}

// joined are the folders whose single child takes the whole rest of the path:
// volume ids and CIDRs contain slashes.
var joined = []string{
	"/nodes/{node}/storage/{storage}/content",
	"/cluster/firewall/ipset/{name}",
	"/nodes/{node}/qemu/{vmid}/firewall/ipset/{name}",
	"/nodes/{node}/lxc/{vmid}/firewall/ipset/{name}",
}

func buildTree(endpoints []*Endpoint) *folder {
	root := &folder{}
	for _, ep := range endpoints {
		f := root
		for name := range strings.SplitSeq(strings.Trim(ep.Path, "/"), "/") {
			if name != "" {
				f = f.child(name)
			}
		}
		if f.methods == nil {
			f.methods = map[string]*Endpoint{}
		}
		f.methods[ep.Method] = ep
	}
	for _, path := range joined {
		if f := root.walkTemplate(path); f != nil {
			f.rest = true
		}
	}
	return root
}

// child gives the sub folder of a template's segment, made when missing.
func (f *folder) child(segment string) *folder {
	if name, ok := strings.CutPrefix(segment, "{"); ok {
		if f.param == nil {
			f.param = &folder{name: strings.TrimSuffix(name, "}")}
		}
		return f.param
	}
	if f.sub == nil {
		f.sub = map[string]*folder{}
	}
	if f.sub[segment] == nil {
		f.sub[segment] = &folder{}
	}
	return f.sub[segment]
}

func (f *folder) walkTemplate(path string) *folder {
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if strings.HasPrefix(name, "{") {
			f = f.param
		} else {
			f = f.sub[name]
		}
		if f == nil {
			return nil
		}
	}
	return f
}

// walk follows a concrete path. Proxmox unescapes the whole path before it
// splits it, so an escaped slash separates like a plain one, and it skips
// empty segments.
func (s *Schema) walk(path string) (*folder, map[string]string) {
	var segments []string
	for seg := range strings.SplitSeq(unescape(path), "/") {
		if seg != "" {
			segments = append(segments, seg)
		}
	}
	f, params := s.root, map[string]string{}
	for len(segments) > 0 {
		seg := segments[0]
		segments = segments[1:]
		switch {
		case f.sub[seg] != nil:
			f = f.sub[seg]
		case f.param != nil:
			// A parameter matches ^\S+$, where $ lets a final newline pass.
			seg = strings.TrimSuffix(seg, "\n")
			if seg == "" || strings.ContainsAny(seg, " \t\n\r\f\v") {
				return nil, nil
			}
			f = f.param
			params[f.name] = seg
		default:
			return nil, nil
		}
		if f.rest && len(segments) > 1 {
			segments = []string{strings.Join(segments, "/")}
		}
	}
	return f, params
}

// Find gives the endpoint of a request and the parameters in its path. The
// path is the raw one below /api2/json, still percent-encoded and without
// query. It is nil when Proxmox has no such call.
func (s *Schema) Find(method, path string) (*Endpoint, map[string]string) {
	f, params := s.walk(path)
	if f == nil || f.methods[method] == nil {
		return nil, nil
	}
	return f.methods[method], params
}

// Children lists the names of the fixed sub folders of a concrete path, sorted.
func (s *Schema) Children(path string) []string {
	f, _ := s.walk(path)
	if f == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(f.sub))
}

// unescape decodes %XX as Perl's URI::Escape does: what isn't a valid escape
// stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if ok1 && ok2 {
				out = append(out, hi<<4|lo)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
