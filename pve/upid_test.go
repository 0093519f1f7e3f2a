package pve

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestUPIDsAreReadExactly(t *testing.T) {
	u, err := ParseUPID("UPID:pve-1:00000891:000A659C:6AF91910:qmcreate:600:root@pam!ci:")
	if err != nil {
		t.Fatal(err)
	}
	want := UPID{
		Node: "pve-1", PID: 0x891, PStart: 0xA659C, Start: 0x6AF91910, Type: "qmcreate", ID: "600", User: "root@pam!ci",
		text: "UPID:pve-1:00000891:000A659C:6AF91910:qmcreate:600:root@pam!ci:",
	}
	if u != want {
		t.Errorf("got %+v", u)
	}
	if !u.StartTime().Equal(time.Unix(0x6AF91910, 0)) {
		t.Errorf("started at %v", u.StartTime())
	}
}

func TestWhatIsAUPIDAndWhatIsNot(t *testing.T) {
	for text, reason := range map[string]string{
		"UPID:pve1:00000891:1000A659C:6AF91910:qmstart:100:root@pam:":   "ok: an uptime of years has nine digits",
		"UPID:pve1:00000128:000694f5:6af90f4c:imgcopy::root@pam:":       "ok: no id, lower-case digits",
		"UPID:pve1:000001CB:00069ADC:6AF90F5B:imgdel:9000@local:a@pve:": "ok: an id that isn't a number",
		"": "empty",
		"UPID:pve1:891:000A659C:6AF91910:qmstart:100:root@pam:":            "short pid",
		"UPID:pve1:00000891:10000A659C:6AF91910:qmstart:100:root@pam:":     "ten digits of pstart",
		"UPID:pve1:00000891:000A659C:6AF91910:qmstart:100:root@pam":        "no colon at the end",
		"UPID:pve1:00000891:000A659C:6AF91910:qmstart:100:root@pam:\n":     "a line break",
		"UPID:pve1:00000891:000A659C:6AF91910:qmstart:100:root@pam:x":      "something behind",
		"UPID:-pve1:00000891:000A659C:6AF91910:qmstart:100:root@pam:":      "node begins with a dash",
		"UPID:pve.1:00000891:000A659C:6AF91910:qmstart:100:root@pam:":      "node with a dot",
		"UPID:pve1:00000891:000A659C:6AF91910::100:root@pam:":              "no type",
		"UPID:pve1:00000891:000A659C:6AF91910:qmstart:100::":               "no user",
		"UPID:pve1:00000891:000A659C:6AF91910:qm/../start:100:root@pam:":   "a slash",
		"UPID:pve1:00000891:000A659C:6AF91910:qmstart:1 0:root@pam:":       "a blank",
		"UPID:pve1:0000089G:000A659C:6AF91910:qmstart:100:root@pam:":       "not hexadecimal",
		" UPID:pve1:00000891:000A659C:6AF91910:qmstart:100:root@pam:":      "a blank before it",
		"UPID:pve1:00000891:000A659C:6AF91910:qmstart:100:root@pam:extra:": "one part too many",
	} {
		_, err := ParseUPID(text)
		if ok := strings.HasPrefix(reason, "ok"); ok != (err == nil) {
			t.Errorf("%q (%s): %v", text, reason, err)
		}
	}
}

func TestUPIDsSurviveJSON(t *testing.T) {
	u, _ := ParseUPID("UPID:pve1:00000891:000A659C:6AF91910:qmcreate:600:root@pam:")
	var back struct{ A, B UPID }
	data, err := json.Marshal(struct{ A, B UPID }{A: u})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &back); err != nil || back.A != u || !back.B.IsZero() {
		t.Errorf("%s became %+v, %v", data, back, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"UPID:nonsense"}`), &back); err == nil {
		t.Error("nonsense was taken for a UPID")
	}
}

func FuzzParsedUPIDsAreWhatTheySay(f *testing.F) {
	f.Add("UPID:pve1:00000891:000A659C:6AF91910:qmcreate:600:root@pam!ci:")
	f.Add("UPID:pve1:00000128:1000694F5:6AF90F4C:imgcopy::root@pam:")
	f.Add("UPID:::::::")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseUPID(text)
		if err != nil {
			if !u.IsZero() {
				t.Errorf("an error beside %+v", u)
			}
			return
		}
		if u.String() != text || u.Node == "" || u.Type == "" || u.User == "" {
			t.Errorf("%q became %+v", text, u)
		}
		if parts := strings.Split(text, ":"); len(parts) != 9 || parts[1] != u.Node || parts[5] != u.Type || parts[6] != u.ID || parts[7] != u.User {
			t.Errorf("%q became %+v", text, u)
		}
	})
}
