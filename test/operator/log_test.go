package operator_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// LOG_LEVEL says how much is told, and --log-level says it louder.
func TestTheLogTellsAsMuchAsIsAskedFor(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.env = []string{"LOG_LEVEL=debug"}
	told := s.operate("--alone", "--log-format", "json")
	s.provide()
	s.waitFor("--for=condition=Ready", "provider/proxmox")
	s.until("requests are told", func() bool {
		return strings.Contains(told.Log(), `"level":"DEBUG"`) && strings.Contains(told.Log(), "/cluster/resources")
	})
	told.Stop() // so that no line is on its way
	for line := range strings.Lines(told.Log()) {
		var entry struct {
			Time, Level, Msg string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time == "" || entry.Level == "" || entry.Msg == "" {
			t.Errorf("no structured log: %v: %s", err, line)
		}
	}
	quiet := s.operate("--alone", "--log-level", "warn")
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	// As long as it works: what is under way when it ends, a library may complain about.
	if log := quiet.Log(); log != "" {
		t.Errorf("it isn't quiet:\n%s", log)
	}
}
