package terraform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a machine got at its first boot was made of files that are gone by now. The machine can be changed and destroyed without them.
func TestFilesOfTheFirstBootAreGone(t *testing.T) {
	begin := func(t *testing.T) (*client, resourceState, values) {
		c := start(t)
		folder := t.TempDir()
		file := filepath.Join(folder, "motd")
		if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
			t.Fatal(err)
		}
		config := small("web")
		config["user_data"] = values{"butane": values{"inline": "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/motd\n      contents: {local: motd}\n", "files": values{"folder": folder}}}
		of := c.made(config)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		c.connect(c.login())
		return c, of, config
	}
	t.Run("read", func(t *testing.T) {
		c, of, _ := begin(t)
		of, said := c.read(of)
		if said.failed || of.state.IsNull() || strings.Contains(c.drift(of), "web") {
			t.Fatal(of.state, said)
		}
	})
	t.Run("change", func(t *testing.T) {
		c, of, config := begin(t)
		of, said := c.read(of)
		if said.failed {
			t.Fatal(said)
		}
		if _, said = c.plan(of, config); !said.failed || !strings.Contains(said.text, "motd") {
			t.Errorf("the configuration names a file that isn't there: %s", said)
		}
		config["user_data"] = values{"butane": values{"inline": "variant: flatcar\nversion: 1.1.0\n"}}
		if _, said = c.plan(of, config); !said.failed || !strings.Contains(said.text, "update_policy.replace") {
			t.Errorf("another first boot takes consent: %s", said)
		}
		config["update_policy"] = values{"replace": "Allow"}
		s, said := c.plan(of, config)
		if said.failed || !strings.Contains(said.text, "web is destroyed and made anew") {
			t.Fatal(said)
		}
		if _, said = c.apply(s); said.failed {
			t.Fatal(said)
		}
	})
	t.Run("destroy", func(t *testing.T) {
		c, of, _ := begin(t)
		private := c.destruction(of)
		if c.deleted(of, private); c.conf("web") != nil {
			t.Error("it is there")
		}
	})
}
