package outside_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// word is what may stand for a secret: long enough that it isn't there by chance.
var word = regexp.MustCompile(`[A-Za-z0-9]{5,}`)

// readable are the words that somebody can read who may see everything in Proxmox but what
// is in the guests and their drives: configs with notes and tags, and the names of files.
func (l *lab) readable() map[string]bool {
	l.t.Helper()
	words := map[string]bool{}
	add := func(text string) {
		for _, w := range word.FindAllString(text, -1) {
			words[w] = true
		}
	}
	s := l.state()
	for id, vm := range s.VMs {
		for key, value := range vm.Conf {
			// Proxmox shows the password as stars, and makes up the others.
			if !l.before.Has(id) && !slices.Contains([]string{"cipassword", "meta", "vmgenid", "smbios1"}, key) {
				add(value)
			}
		}
	}
	for _, space := range s.Spaces {
		for name := range space.Volumes {
			add(name)
		}
	}
	return words
}

// TestNoGuessOfAPasswordCanBeTested: passwords of people can be guessed, if there is something
// to test a guess with. Whoever has all of the manifests but the password makes the same
// machines with each guess, as proxplane does, in a Proxmox of his own, and looks for
// something that is there only with the right one. With a key there is nothing.
func TestNoGuessOfAPasswordCanBeTested(t *testing.T) {
	t.Parallel()
	l := labUntil(t.Context(), t) // many commands, each with a limit of its own
	l.must(os.WriteFile(filepath.Join(l.folder, "machines.yaml"), []byte(secretMachine), 0o600))
	file := func(name, text string) string {
		path := filepath.Join(l.tmp, name)
		l.must(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	made := func(key, password string) map[string]bool {
		t.Helper()
		secrets := strings.ReplaceAll(strings.ReplaceAll(guestSecret, guestPassword, password), userSecret, password)
		apply := l.apply(shop, "-f", file("secret.yaml", secrets))
		remove := l.command("delete", "-f", l.folder, "-f", file("secret.yaml", secrets), "--set", shop, "--yes", "--timeout", "2m")
		if key != "" {
			env := "PROXPLANE_MARKER_KEY_FILE=" + file("key", key)
			apply.Env, remove.Env = append(apply.Env, env), append(remove.Env, env)
		}
		l.succeeds(apply)
		words := l.readable()
		l.succeeds(remove)
		return words
	}
	const right, wrong = "summer26", "winter26"
	ours, his := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	real := made(ours, right)
	const mark = 32 // digits of what stands for a secret
	if !slices.ContainsFunc(keysOf(real), func(w string) bool { return len(w) == mark }) {
		t.Errorf("nothing stands for the secrets: %q", keysOf(real))
	}
	for how, key := range map[string]string{"with a key of his own": his, "without a key": ""} {
		hit, miss := made(key, right), made(key, wrong)
		for w := range real {
			if hit[w] && !miss[w] {
				t.Errorf("%s: %q is there with the right password only", how, w)
			}
		}
	}
}

func keysOf(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
