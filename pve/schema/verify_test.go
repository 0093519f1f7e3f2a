package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerifyGivesParametersAsPerlWouldWriteThem(t *testing.T) {
	s := mustLoad(t, "9.2")
	for _, c := range []struct {
		reason, method, path string
		in                   map[string]any
		want                 Params
	}{
		{"JSON values become text", "PUT", "/nodes/{node}/qemu/{vmid}/config",
			map[string]any{"node": "pve1", "vmid": json.Number("100"), "onboot": true, "acpi": false, "cores": json.Number("2"),
				"cpulimit": json.Number("1.50"), "memory": 256, "name": nil},
			Params{"node": "pve1", "vmid": "100", "onboot": "1", "acpi": "0", "cores": "2", "cpulimit": "1.5", "memory": "256", "name": nil}},
		{"an array is joined for a list", "PUT", "/nodes/{node}/qemu/{vmid}/config",
			map[string]any{"node": "pve1", "vmid": "100", "delete": []any{"description", "balloon"}},
			Params{"node": "pve1", "vmid": "100", "delete": "description,balloon"}},
		{"one value is an array too", "POST", "/nodes/{node}/qemu/{vmid}/agent/exec",
			map[string]any{"node": "pve1", "vmid": "100", "command": "ls"},
			Params{"node": "pve1", "vmid": "100", "command": []string{"ls"}}},
		{"several are", "POST", "/nodes/{node}/qemu/{vmid}/agent/exec",
			map[string]any{"node": "pve1", "vmid": "100", "command": []any{"ls", json.Number("1"), "-l"}},
			Params{"node": "pve1", "vmid": "100", "command": []string{"ls", "1", "-l"}}},
		{"unknown parameters pass where they may", "GET", "/nodes/{node}/qemu/{vmid}/agent",
			map[string]any{"node": "pve1", "vmid": "100", "x": true},
			Params{"node": "pve1", "vmid": "100", "x": "1"}},
	} {
		got, errs := s.Lookup(c.method, c.path).Verify(c.in)
		if errs != nil {
			t.Errorf("%s: %v", c.reason, errs)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestVerifyTellsWhatIsWrong(t *testing.T) {
	vm := map[string]any{"node": "pve1", "vmid": "100"}
	for _, c := range []struct {
		reason, release, method, path string
		in                            map[string]any
		want                          Errors
	}{
		{"a false value doesn't become an array", "9.2", "POST", "/nodes/{node}/qemu/{vmid}/agent/exec",
			map[string]any{"command": "0"}, Errors{"command": "type check ('array') failed"}},
		{"items are named by their index", "9.2", "POST", "/cluster/notifications/endpoints/sendmail",
			map[string]any{"name": "abc", "mailto-user": []any{"root@pam", "x"}},
			Errors{"mailto-user[1]": "invalid format - user name 'x' is too short\n"}},
		{"a boolean is no string", "9.2", "PUT", "/nodes/{node}/qemu/{vmid}/config",
			map[string]any{"name": true}, Errors{"name": "type check ('string') failed - got JSON::PP::Boolean"}},
		{"nor a number", "9.2", "PUT", "/nodes/{node}/qemu/{vmid}/config",
			map[string]any{"cores": false}, Errors{"cores": "type check ('integer') failed - got JSON::PP::Boolean"}},
		{"null is missing when it is needed", "9.2", "GET", "/nodes/{node}/qemu/{vmid}/config",
			map[string]any{"vmid": nil}, Errors{"vmid": missing}},
		{"null of an unknown parameter is unknown", "9.2", "GET", "/version", map[string]any{"x": nil},
			Errors{"x": unknown}},
		{"a family has bounds", "9.2", "PUT", "/nodes/{node}/qemu/{vmid}/config",
			map[string]any{"net32": "virtio", "net01": "virtio", "net[n]": "virtio"},
			Errors{"net32": unknown, "net01": unknown, "net[n]": unknown}},
		{"one parameter needs another", "9.2", "POST", "/cluster/backup", map[string]any{"dow": "mon"},
			Errors{"starttime": "missing property required by 'dow'"}},
		{"8.4 has another text", "8.4", "POST", "/cluster/backup", map[string]any{"dow": "mon"},
			Errors{"starttime": "missing property - 'dow' requires this property"}},
		{"a type selects the parameters", "9.2", "POST", "/cluster/ha/rules",
			map[string]any{"rule": "r1", "type": "node-affinity", "resources": "vm:100", "affinity": "positive"},
			Errors{"oneOf[node-affinity].nodes": missing, "affinity": unknown}},
		{"without one all are unknown", "9.2", "POST", "/cluster/ha/rules",
			map[string]any{"rule": "r1", "nodes": "pve1"}, Errors{"type": missing, "nodes": unknown}},
		{"with a wrong one too", "9.2", "POST", "/cluster/ha/rules",
			map[string]any{"rule": "r1", "type": "x", "nodes": "pve1"},
			Errors{"type": "value 'x' does not have a value in the enumeration 'node-affinity, resource-affinity'", "nodes": unknown}},
		{"agent=on is good since 9", "8.4", "PUT", "/nodes/{node}/qemu/{vmid}/config", map[string]any{"agent": "on"},
			Errors{"agent": "invalid format - format error\nagent.enabled: type check ('boolean') failed - got 'on'\n"}},
		{"8.4 doesn't know newer CPUs", "8.4", "PUT", "/nodes/{node}/qemu/{vmid}/config", map[string]any{"cpu": "EPYC-Turin"},
			Errors{"cpu": "invalid format - Built-in cputype 'EPYC-Turin' is not defined (missing 'custom-' prefix?)\n"}},
	} {
		ep := mustLoad(t, c.release).Lookup(c.method, c.path)
		in := map[string]any{}
		for k, v := range vm {
			if ep.Param(k) != nil {
				in[k] = v
			}
		}
		for k, v := range c.in {
			in[k] = v
		}
		_, got := ep.Verify(in)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestMergeRefusesConflictsWithThePath(t *testing.T) {
	path := map[string]string{"vmid": "100"}
	if in, errs := Merge(path, map[string]any{"vmid": json.Number("100"), "name": "x"}); errs != nil || in["name"] != "x" || in["vmid"] != "100" {
		t.Errorf("the same value twice: %v %v", in, errs)
	}
	for _, other := range []any{"101", []any{"100"}, nil} {
		_, errs := Merge(path, map[string]any{"vmid": other})
		want := Errors{"vmid": "duplicate parameter (already defined in URI) with conflicting values!"}
		if !cmp.Equal(errs, want) {
			t.Errorf("%v in the body: %v", other, errs)
		}
	}
}

func TestParamsAreReadByKind(t *testing.T) {
	p := Params{"s": "x", "n": "42", "f": "1.9", "t": "1", "z": "0", "l": "a,b;c  d", "a": []string{"x y", "z"}, "null": nil, "nul": "a b\x00c\x00"}
	if p.Str("s") != "x" || p.Int("n") != 42 || p.Int("f") != 1 || !p.Bool("t") || p.Bool("z") || p.Bool("none") {
		t.Errorf("scalars of %v", p)
	}
	for key, want := range map[string][]string{"l": {"a", "b", "c", "d"}, "a": {"x y", "z"}, "nul": {"a b", "c"}, "none": nil} {
		if got := p.List(key); !cmp.Equal(got, want) {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if p.Has("null") || !p.Null("null") || p.Has("none") || p.Null("none") || !p.Has("z") {
		t.Error("what is given, what is null")
	}
}

func TestNumbersAreWrittenAsPerlWritesThem(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "-0": "0", "1.50": "1.5", "1e3": "1000", "0.1": "0.1", "1e-7": "1e-07", "1.5e300": "1.5e+300",
		"123456789012345678": "123456789012345678", "1e20": "1e+20", "0.30000000000000004": "0.3", "2.0": "2", "0.0001": "0.0001",
	} {
		if got := perlNumber(in); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]string{"1": "1", "1024": "1K", "1.5K": "1536", "1536M": "1536M", "2048M": "2G", "1TiB": "1T", "0": "0T"} {
		n, ok := ParseSize(in)
		if got := FormatSize(n); !ok || got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
	for _, bad := range []string{"", "G", "1GB", "-1", "1 G"} {
		if n, ok := ParseSize(bad); ok {
			t.Errorf("%q is %d", bad, n)
		}
	}
}

func TestOneParameterCanBeVerified(t *testing.T) {
	ep := mustLoad(t, "9.2").Lookup("PUT", "/nodes/{node}/qemu/{vmid}/config")
	if errs := ep.Param("scsi3").Verify("scsi3", "local:32,ssd=1"); errs != nil {
		t.Error(errs)
	}
	if errs := ep.Param("tags").Verify("tags", []any{"a", "b"}); errs != nil {
		t.Error(errs)
	}
	if errs := ep.Param("cores").Verify("cores", 0); errs["cores"] != "value must have a minimum value of 1" {
		t.Error(errs)
	}
	hasMine := CPUModels(func(name string) bool { return name == "mine" })
	for value, want := range map[string]string{
		"custom-mine":  "",
		"custom-other": "invalid format - Custom cputype 'other' not found\n",
		"host":         "",
	} {
		if errs := ep.Param("cpu").Verify("cpu", value, hasMine); errs["cpu"] != want {
			t.Errorf("cpu=%s: %v", value, errs)
		}
	}
	if errs := ep.Param("cpu").Verify("cpu", "custom-other"); errs != nil {
		t.Errorf("when nobody knows the models, any passes: %v", errs)
	}
	for name, known := range map[string]bool{"net31": true, "net32": false, "net": false, "net[n]": false, "smbios1": true, "bogus": false} {
		if got := ep.Param(name) != nil; got != known {
			t.Errorf("%s known: %v", name, got)
		}
	}
}
