package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
)

// secretOf is the secret of first-boot data.
func secretOf(r firstboot.Recipe, files map[string][]byte) model.Secret {
	sum := firstboot.Digest(files)
	s := model.Secret{Kind: model.FirstBoot, Sum: sum, Basis: basis(r), Plain: sum}
	if r.Folder != "" {
		s.Basis = sum // what is read from there is secret, too
	}
	return s
}

// basis is a digest of all that people wrote: without what differs between machines that
// are written once.
func basis(r firstboot.Recipe) string {
	h := sha256.New()
	add := func(parts ...string) {
		for _, part := range parts {
			fmt.Fprintf(h, "%d\x00%s", len(part), part)
		}
	}
	add(r.UserData, r.Ignition)
	add(r.Butane...)
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		add(name, string(r.Files[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		add(name, r.Extra[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		if !slices.Contains([]string{firstboot.VarName, firstboot.VarCount, firstboot.VarIndex, firstboot.VarCountIndex}, name) {
			add(name, r.Variables[name])
		}
	}
	const noKeys = "{}\n" // as YAML
	add(cmp.Or(r.MetaData, noKeys))
	return hex.EncodeToString(h.Sum(nil))
}

// hash does the part of sealing a secret that takes long, see [model.Slow]. Where time is
// short, that is done for each machine in its turn; else see [Translation.hashSecrets].
func (b *build) hash(o model.Owner, s *model.Secret) {
	key := slowKeyOf(o, s)
	if b.Late == nil || slowly.hash(key, s) {
		return
	}
	if b.Late() {
		b.failLate()
		return
	}
	slowly.put(key, string(model.Slow(o, *s)))
	slowly.hash(key, s)
}

// hashSecrets does the same for all machines together: side by side, and once for what
// they have in common.
func (t *Translation) hashSecrets() {
	type secret struct {
		owner model.Owner
		*model.Secret
	}
	var all []secret
	missing := map[slowKey]secret{}
	for _, r := range t.results {
		if s := r.VM.Secret; s != nil {
			all = append(all, secret{r.VM.Owner, s})
		}
		if r.VM.Seed != nil {
			all = append(all, secret{r.VM.Owner, &r.VM.Seed.Secret})
		}
	}
	for _, s := range all {
		if key := slowKeyOf(s.owner, s.Secret); s.Slow == "" && !slowly.hash(key, s.Secret) {
			missing[key] = s
		}
	}
	var work sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for key, s := range missing {
		room <- struct{}{}
		work.Go(func() {
			slowly.put(key, string(model.Slow(s.owner, *s.Secret)))
			<-room
		})
	}
	work.Wait()
	for _, s := range all {
		slowly.hash(slowKeyOf(s.owner, s.Secret), s.Secret)
	}
}

// slowKey is what [model.Slow] depends on.
type slowKey struct {
	door, set, namespace, kind, basis string
	random                            bool
}

func slowKeyOf(o model.Owner, s *model.Secret) slowKey {
	return slowKey{o.Door, o.Set, o.Namespace, s.Kind, s.Basis, s.Random}
}

// slowKeys keeps what was computed for the sets that are translated again and again.
type slowKeys struct {
	mu   sync.Mutex
	made map[slowKey]string
}

var slowly = slowKeys{made: map[slowKey]string{}}

// maxSlow bounds how many are kept.
const maxSlow = 20_000

// hash fills in what is known of a secret; false: nothing is.
func (k *slowKeys) hash(key slowKey, s *model.Secret) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	made, known := k.made[key]
	if known {
		s.Slow = made
	}
	return known
}

func (k *slowKeys) put(key slowKey, made string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.made) >= maxSlow {
		clear(k.made)
	}
	k.made[key] = made
}
