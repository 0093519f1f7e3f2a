package model

import (
	"strings"
	"testing"
)

func TestMarksOfSecrets(t *testing.T) {
	owner := Owner{Door: "vm", Set: "shop", Key: Key{Kind: "VirtualMachine", Name: "web"}}
	other := owner
	other.Name = "db"
	first, second := []byte(strings.Repeat("a", MinKey)), []byte(strings.Repeat("b", MinKey))
	secret, changed := PasswordSecret("summer26"), PasswordSecret("winter26")
	seal := func(k Keys, s Secret) Seal { return k.Seal(owner, s) }
	lost := Keys{second, []byte("lost " + keyID(first))}
	for _, c := range []struct {
		reason string
		mark   string
		now    Seal
		want   Match
	}{
		{"the same key", seal(Keys{first}, secret).Mark, seal(Keys{first}, secret), SameSecret},
		{"another password", seal(Keys{first}, secret).Mark, seal(Keys{first}, changed), OtherSecret},
		{"the key before", seal(Keys{first}, secret).Mark, seal(Keys{second, first}, secret), SameSecret},
		{"the key before, another password", seal(Keys{first}, secret).Mark, seal(Keys{second, first}, changed), OtherSecret},
		{"a key that isn't here", seal(Keys{first}, secret).Mark, seal(Keys{second}, secret), NoKeyFor},
		{"no key is here", seal(Keys{first}, secret).Mark, seal(nil, changed), NoKeyFor},
		{"a key that is lost counts as the same", seal(Keys{first}, secret).Mark, seal(lost, secret), SameSecret},
		{"no key", seal(nil, secret).Mark, seal(nil, secret), SameSecret},
		{"no key, another password", seal(nil, secret).Mark, seal(nil, changed), OtherSecret},
		{"a time without a key", seal(nil, secret).Mark, seal(Keys{first}, secret), SameSecret},
		{"a time without a key, another password", seal(nil, secret).Mark, seal(Keys{first}, changed), OtherSecret},
		{"an earlier version", secret.Plain, seal(Keys{first}, secret), SameSecret},
		{"an earlier version, no key", secret.Plain, seal(nil, secret), SameSecret},
		{"an earlier version, another password", secret.Plain, seal(Keys{first}, changed), OtherSecret},
		{"the same for another machine", Keys{first}.Seal(other, secret).Mark, seal(Keys{first}, secret), OtherSecret},
		{"the same for another machine, no key", Keys(nil).Seal(other, secret).Mark, seal(nil, secret), OtherSecret},
		{"no mark", "", seal(Keys{first}, secret), OtherSecret},
	} {
		if got := c.now.Match(c.mark); got != c.want {
			t.Errorf("%s: %q is %s for %+v, want %s", c.reason, c.mark, got, c.now, c.want)
		}
	}
	if mark := seal(lost, secret).Mark; MarkKey(mark) != keyID(second) {
		t.Errorf("the mark is %q", mark)
	}
}

func TestFingerprintsHaveNothingOfASecret(t *testing.T) {
	v := VM{Options: map[string]string{Password: "summer26", "cores": "2"}, Password: Seal{Mark: "k1", Also: []string{"a"}}, Seed: &Seed{Digest: "k2", Also: []string{"b"}}}
	print := v.Fingerprint()
	w := v
	w.Options = map[string]string{Password: "winter26", "cores": "2"}
	w.Password.Also, w.Seed = nil, &Seed{Digest: "k2", Secret: Secret{Sum: "x"}}
	if w.Fingerprint() != print {
		t.Error("it depends on more than the marks")
	}
	w.Password.Mark = "k3"
	if w.Fingerprint() == print {
		t.Error("another password makes no difference")
	}
	w = v
	w.Seed = &Seed{Digest: "k3"}
	if w.Fingerprint() == print {
		t.Error("other first-boot data make no difference")
	}
	if v.Options[Password] == "" || v.Seed.Also == nil {
		t.Error("what is wanted has changed")
	}
}

func TestLostKeysAreNamedByTheirIDs(t *testing.T) {
	key := strings.Repeat("c", MinKey)
	keys, err := ParseKeys("lost 1a2b3c4d\n" + key + "\n")
	if err != nil || len(keys) != 2 || string(keys[0]) != key {
		t.Fatalf("%q, %v: the first one signs", keys, err)
	}
	for _, bad := range []string{"lost 1a2b3c4d", "lost\n" + key, "lost 1a2b\n" + key, "lost 1A2B3C4D\n" + key} {
		if _, err := ParseKeys(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	before := Keys{[]byte(strings.Repeat("d", MinKey))}
	_, m, _ := ParseDescription(before.Sign(Describe("", Marker{Owner: Owner{Key: Key{Name: "web"}}, VMID: 100})))
	if got := keys.Verify(&m); got != OtherKey {
		t.Errorf("it is %q", got)
	}
	if got := append(keys, []byte("lost "+keyID(before[0]))).Verify(&m); got != Unsigned {
		t.Errorf("signed with a lost key it is %q", got)
	}
	if got := append(keys, before[0]).Verify(&m); got != Before || !got.Proves() {
		t.Errorf("signed with the key before it is %q", got)
	}
}
