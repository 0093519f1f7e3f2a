package join

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lifetime is how long a token is valid.
const Lifetime = time.Hour

// Where bootstrap tokens are, and how they are marked as ours.
const (
	namespace  = "kube-system"
	doorLabel  = "proxplane.io/join-door"
	ownerNote  = "proxplane.io/join-machine"
	nodeNote   = "proxplane.io/join-node"
	namePrefix = "bootstrap-token-"
)

// Groups are those that a machine is in until it has its certificate, beside
// system:bootstrappers: kubeadm's own, which may read what "kubeadm join" reads, and
// ours, which the chart lets ask for certificates.
var Groups = []string{"system:bootstrappers:kubeadm:default-node-token", "system:bootstrappers:proxplane"}

// Token is a bootstrap token. It prints as its ID, without its secret.
type Token struct {
	ID      string
	Expires time.Time

	secret string
}

// Reveal returns the whole token, as a kubelet sends it. Use it for first-boot data only.
func (t Token) Reveal() string { return t.ID + "." + t.secret }

// String returns the token without its secret.
func (t Token) String() string { return t.ID + ".****************" }

// GoString returns the same, so that %#v shows no secret.
func (t Token) GoString() string { return "join.Token{" + t.String() + "}" }

// MarshalText returns the same, so that loggers show no secret.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Tokens makes, finds and deletes the bootstrap tokens of a door's machines.
type Tokens struct {
	// Client writes, and reads from the API server and not from a cache: a cache might not have yet
	// what was made before a crash.
	Client client.Client
	// Door is the name of the door: doors don't delete each other's tokens.
	Door string
	// Signs has Kubernetes sign the ConfigMap kube-public/cluster-info with each token, for machines that don't know the CA: "kubeadm join" finds it so. Each token that
	// comes or goes is a write of that ConfigMap.
	Signs bool
	// Groups are those of [Groups] when empty.
	Groups []string
	// Now is time.Now when nil.
	Now func() time.Time
}

func (t *Tokens) now() time.Time {
	if t.Now != nil {
		return t.Now()
	}
	return time.Now()
}

// For returns the token of a machine, and creates one if there is no valid one.
func (t *Tokens) For(ctx context.Context, m Machine) (Token, error) {
	if m.ID == "" || m.Node == "" {
		return Token{}, errors.New("make a bootstrap token: the machine has no ID or no node name")
	}
	for attempt := range attempts {
		id := tokenID(t.Door, m.ID, attempt)
		token, ok, err := t.create(ctx, m, id) // most machines have none: to look first would be a request more
		if err != nil {
			return Token{}, fmt.Errorf("make bootstrap token %s for node %s: %w", id, m.Node, err)
		}
		if ok {
			return token, nil
		}
	}
	return Token{}, fmt.Errorf("make a bootstrap token for node %s: all %d IDs that it can have belong to other tokens", m.Node, attempts)
}

// attempts is how many IDs a machine's token can have: another token may have one of them.
const attempts = 8

// take returns the machine's token of an ID that somebody has, and makes it if nobody has that ID by now. It isn't ok if the ID is
// that of another token.
func (t *Tokens) take(ctx context.Context, m Machine, id string) (token Token, ok bool, err error) {
	var found corev1.Secret
	err = t.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: namePrefix + id}, &found)
	if apierrors.IsNotFound(err) {
		return t.create(ctx, m, id)
	}
	if err != nil {
		return Token{}, false, err
	}
	if !t.owns(&found, m.ID) {
		return Token{}, false, nil
	}
	token, good := t.read(&found)
	if good && found.Annotations[nodeNote] == m.Node {
		return token, true, nil
	}
	if err := t.remove(ctx, &found); err != nil {
		return Token{}, false, err
	}
	return t.create(ctx, m, id)
}

// create makes the machine's token of an ID; if somebody has the ID, it returns what take does.
func (t *Tokens) create(ctx context.Context, m Machine, id string) (Token, bool, error) {
	secret, err := randomText(secretLength)
	if err != nil {
		return Token{}, false, err
	}
	token := Token{ID: id, secret: secret, Expires: t.now().Add(Lifetime).UTC().Truncate(time.Second)}
	groups := t.Groups
	if len(groups) == 0 {
		groups = Groups
	}
	err = t.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: namePrefix + id,
			Labels:      map[string]string{doorLabel: t.Door},
			Annotations: map[string]string{ownerNote: m.ID, nodeNote: m.Node},
		},
		Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"description":                    "proxplane: node " + m.Node,
			"token-id":                       token.ID,
			"token-secret":                   token.secret,
			"expiration":                     token.Expires.Format(time.RFC3339),
			"usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing":        strconv.FormatBool(t.Signs),
			"auth-extra-groups":              strings.Join(groups, ","),
		},
	})
	if apierrors.IsAlreadyExists(err) { // perhaps it is ours, from an earlier process or from another one of us: look at it
		return t.take(ctx, m, id)
	}
	return token, err == nil, err
}

// owns reports whether a Secret is the token of a machine of this door.
func (t *Tokens) owns(s *corev1.Secret, machine string) bool {
	return s.Type == corev1.SecretTypeBootstrapToken && s.Labels[doorLabel] == t.Door && s.Annotations[ownerNote] == machine
}

// read returns the token that a Secret holds, and whether it is still good.
func (t *Tokens) read(s *corev1.Secret) (token Token, good bool) {
	token = Token{ID: string(s.Data["token-id"]), secret: string(s.Data["token-secret"])}
	var err error
	token.Expires, err = time.Parse(time.RFC3339, string(s.Data["expiration"]))
	good = err == nil && s.DeletionTimestamp == nil && namePrefix+token.ID == s.Name && len(token.secret) == secretLength && t.now().Before(token.Expires)
	return token, good
}

// Owner returns the machine that a token of this door was made for, with its ID and the name of its Node, by the
// ID of the token; nil: there is no such token.
func (t *Tokens) Owner(ctx context.Context, tokenID string) (*Machine, error) {
	var s corev1.Secret
	err := t.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: namePrefix + tokenID}, &s)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !t.owns(&s, s.Annotations[ownerNote]) {
		return nil, nil
	}
	if _, good := t.read(&s); !good {
		return nil, nil
	}
	return &Machine{ID: s.Annotations[ownerNote], Node: s.Annotations[nodeNote]}, nil
}

// Delete deletes the token of a machine, if there is one.
func (t *Tokens) Delete(ctx context.Context, machine string) error {
	for attempt := range attempts {
		var s corev1.Secret
		err := t.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: namePrefix + tokenID(t.Door, machine, attempt)}, &s)
		if apierrors.IsNotFound(err) {
			return nil // a later ID is only taken when the earlier ones are others'
		}
		if err == nil && t.owns(&s, machine) {
			return t.remove(ctx, &s)
		}
		if err != nil {
			return fmt.Errorf("find the bootstrap token of machine %s: %w", machine, err)
		}
	}
	return nil
}

// remove deletes a Secret that was read, and no other one of the same name.
func (t *Tokens) remove(ctx context.Context, s *corev1.Secret) error {
	uid := s.UID
	options := &client.DeleteOptions{}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	if err := t.Client.Delete(ctx, s, options); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete bootstrap token %s: %w", strings.TrimPrefix(s.Name, namePrefix), err)
	}
	return nil
}

// What tokens are made of, by Kubernetes' own rules: [a-z0-9]{6}\.[a-z0-9]{16}.
const (
	alphabet     = "abcdefghijklmnopqrstuvwxyz0123456789"
	idLength     = 6
	secretLength = 16
)

// tokenID is the ID of a machine's token. IDs are no secrets: they are in user names.
func tokenID(door, machine string, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", door, machine, attempt))
	n := new(big.Int).SetBytes(sum[:])
	base, digit := big.NewInt(int64(len(alphabet))), new(big.Int)
	id := make([]byte, idLength)
	for i := range id {
		n.DivMod(n, base, digit)
		id[i] = alphabet[digit.Int64()]
	}
	return string(id)
}

func randomText(length int) (string, error) {
	text := make([]byte, length)
	for i := range text {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", err
		}
		text[i] = alphabet[n.Int64()]
	}
	return string(text), nil
}
