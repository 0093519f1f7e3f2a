package site

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/model"
)

// seal computes the seals of a machine's secrets, unless its caller has done so: the slow hash
// prevents guessing, and is computed once for equal secrets.
func (c *cluster) seal(vm model.VM) model.VM {
	if password := vm.Options[model.Password]; password != "" {
		secret := model.PasswordSecret(password)
		if vm.Secret != nil {
			secret = *vm.Secret
		}
		c.slow.hash(vm.Owner, &secret)
		vm.Secret = &secret
	}
	if vm.Seed != nil {
		seed := *vm.Seed
		if seed.Secret == (model.Secret{}) {
			sum := sumOf(seed)
			seed.Secret = model.Secret{Kind: model.FirstBoot, Sum: sum, Basis: sum}
		}
		c.slow.hash(vm.Owner, &seed.Secret)
		vm.Seed = &seed
	}
	return vm
}

// sumOf returns a digest of first-boot data.
func sumOf(s model.Seed) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		fmt.Fprintf(h, "%d\x00%s%d\x00%s", len(name), name, len(s.Files[name]), s.Files[name])
	}
	if s.Recipe != nil {
		b, err := json.Marshal(s.Recipe)
		if err != nil {
			panic(err) // plain values only
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// slowSums are what [model.Slow] has worked out.
type slowSums struct {
	mu   sync.Mutex
	sums map[slowKey]func() string
}

// slowKey is what [model.Slow] depends on.
type slowKey struct {
	door, set, namespace, kind, basis string
	random                            bool
}

// maxSlow bounds how many are remembered.
const maxSlow = 10_000

func (s *slowSums) hash(owner model.Owner, secret *model.Secret) {
	if secret.Slow != "" {
		return
	}
	key := slowKey{owner.Door, owner.Set, owner.Namespace, secret.Kind, secret.Basis, secret.Random}
	s.mu.Lock()
	sum := s.sums[key]
	if sum == nil {
		if s.sums == nil || len(s.sums) >= maxSlow {
			s.sums = map[slowKey]func() string{}
		}
		plain := *secret
		sum = sync.OnceValue(func() string { return string(model.Slow(owner, plain)) })
		s.sums[key] = sum
	}
	s.mu.Unlock()
	secret.Slow = sum()
}
