package join_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proxplane/proxplane/kube/join"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// kubernetes is an API server that stores Secrets as a real one does.
func kubernetes(objects ...client.Object) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			o.SetCreationTimestamp(metav1.NewTime(begin))
			if s, ok := o.(*corev1.Secret); ok {
				s.Data = map[string][]byte{}
				for k, v := range s.StringData {
					s.Data[k] = []byte(v)
				}
				s.StringData = nil
			}
			return c.Create(ctx, o, options...)
		},
	})
}

func tokens(c client.Client, now time.Time) *join.Tokens {
	return &join.Tokens{Client: c, Door: "karpenter", Signs: true, Now: func() time.Time { return now }}
}

func secrets(t *testing.T, c client.Client) []corev1.Secret {
	t.Helper()
	var list corev1.SecretList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

var n1 = join.Machine{ID: "uid-1", Node: "n1"}

func TestATokenIsOneThatKubernetesTakes(t *testing.T) {
	c := kubernetes().Build()
	token, err := tokens(c, begin).For(t.Context(), n1)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`).MatchString(token.Reveal()) {
		t.Error("the token isn't of the form that Kubernetes takes")
	}
	all := secrets(t, c)
	if len(all) != 1 || all[0].Name != "bootstrap-token-"+token.ID || all[0].Namespace != "kube-system" || all[0].Type != "bootstrap.kubernetes.io/token" {
		t.Fatalf("the Secrets are %v", all)
	}
	for key, want := range map[string]string{
		"token-id": token.ID, "token-secret": token.Reveal()[7:], "expiration": "2026-01-02T04:04:05Z",
		"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true", "auth-extra-groups": strings.Join(join.Groups, ","),
	} {
		if got := string(all[0].Data[key]); got != want {
			t.Errorf("%s is %q and not %q", key, got, want)
		}
	}
}

// Who gives machines a kubeconfig needs no signature of cluster-info, which would be a write for each token.
func TestATokenSignsNothingUnlessAsked(t *testing.T) {
	c := kubernetes().Build()
	if _, err := (&join.Tokens{Client: c, Door: "machines"}).For(t.Context(), n1); err != nil {
		t.Fatal(err)
	}
	if signs := string(secrets(t, c)[0].Data["usage-bootstrap-signing"]); signs != "false" {
		t.Errorf("it signs: %q", signs)
	}
}

// However often it is asked for, by whom, and whoever was killed meanwhile.
func TestAMachineHasOneToken(t *testing.T) {
	c := kubernetes().Build()
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			token, err := tokens(c, begin.Add(59*time.Minute)).For(context.WithoutCancel(t.Context()), n1)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[token.Reveal()] = true
		})
	}
	all.Wait()
	if n := len(secrets(t, c)); len(seen) != 1 || n != 1 {
		t.Errorf("there are %d tokens in %d Secrets", len(seen), n)
	}
	if other, err := tokens(c, begin).For(t.Context(), join.Machine{ID: "uid-2", Node: "n2"}); err != nil || seen[other.Reveal()] {
		t.Errorf("another machine has the same token (%v)", err)
	}
}

func TestAnExpiredTokenIsReplaced(t *testing.T) {
	c := kubernetes().Build()
	old, err := tokens(c, begin).For(t.Context(), n1)
	if err != nil {
		t.Fatal(err)
	}
	young, err := tokens(c, begin.Add(join.Lifetime)).For(t.Context(), n1)
	if err != nil || young.Reveal() == old.Reveal() || len(secrets(t, c)) != 1 {
		t.Errorf("the token is %v, there are %d Secrets (%v)", young, len(secrets(t, c)), err)
	}
}

// A Secret of that name that isn't ours is left as it is, and the machine's token gets another ID.
func TestTokensOfOthersAreLeftAlone(t *testing.T) {
	c := kubernetes().Build()
	first, err := tokens(c, begin).For(t.Context(), n1)
	if err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-" + first.ID}, Type: corev1.SecretTypeBootstrapToken}
	c = kubernetes(foreign).Build()
	token, err := tokens(c, begin).For(t.Context(), n1)
	if err != nil || token.ID == first.ID {
		t.Fatalf("the token is %v (%v)", token, err)
	}
	if err := tokens(c, begin).Delete(t.Context(), n1.ID); err != nil {
		t.Fatal(err)
	}
	if left := secrets(t, c); len(left) != 1 || left[0].Name != foreign.Name {
		t.Errorf("left are %v", left)
	}
	if owner, err := tokens(c, begin).Owner(t.Context(), first.ID); err != nil || owner != nil {
		t.Errorf("the foreign token is said to be that of %q (%v)", owner, err)
	}
}

func TestTokensShowNoSecret(t *testing.T) {
	token, err := tokens(kubernetes().Build(), begin).For(t.Context(), n1)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	slog.New(slog.NewJSONHandler(&text, nil)).Info("x", "token", token)
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "token", token)
	asJSON, _ := json.Marshal(token)
	said := fmt.Sprintf("%v %+v %#v %s %q %s %s", token, token, token, token, token, asJSON, text.String())
	if _, secret, _ := strings.Cut(token.Reveal(), "."); strings.Contains(said, secret) {
		t.Error("the secret of a token is shown")
	}
	if !strings.Contains(said, token.ID) {
		t.Error("the ID of a token isn't shown")
	}
}

// fleet are the machines that there are.
type fleet map[string]join.Machine

func (f fleet) ByNode(_ context.Context, node string) (*join.Machine, error) {
	for _, m := range f {
		if m.Node == node {
			return &m, nil
		}
	}
	return nil, nil
}

func (f fleet) Exists(_ context.Context, id string) (bool, error) {
	if id == "unknown" {
		return false, errors.New("nobody knows")
	}
	_, ok := f[id]
	return ok, nil
}

func TestTokensThatNobodyNeedsGo(t *testing.T) {
	node := func(name string, made time.Time) client.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(made)}}
	}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-zzzzzz", Labels: map[string]string{"proxplane.io/join-door": "karpenter"}}}
	c := kubernetes(foreign, node("joined", begin.Add(time.Minute)), node("earlier", begin.Add(-time.Hour))).Build()
	machines := fleet{}
	for _, id := range []string{"joined", "earlier", "waiting", "gone", "unknown"} {
		m := join.Machine{ID: id, Node: id}
		if _, err := tokens(c, begin).For(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if id != "gone" {
			machines[id] = m
		}
	}
	if _, err := tokens(c, begin.Add(-join.Lifetime)).For(t.Context(), join.Machine{ID: "old", Node: "old"}); err != nil {
		t.Fatal(err)
	}
	machines["old"] = join.Machine{ID: "old", Node: "old"}
	other := tokens(c, begin)
	other.Door = "machines"
	if _, err := other.For(t.Context(), join.Machine{ID: "gone", Node: "gone"}); err != nil {
		t.Fatal(err)
	}
	left, err := tokens(c, begin.Add(time.Minute)).Prune(t.Context(), c, machines)
	if err == nil || left != 3 {
		t.Errorf("%d tokens are left, the error is %v", left, err)
	}
	owners := map[string]bool{}
	for _, s := range secrets(t, c) {
		owners[s.Labels["proxplane.io/join-door"]+"/"+s.Annotations["proxplane.io/join-machine"]] = true
	}
	for _, want := range []string{"karpenter/", "karpenter/earlier", "karpenter/waiting", "karpenter/unknown", "machines/gone"} {
		if !owners[want] {
			t.Errorf("the token of %s is gone", want)
		}
		delete(owners, want)
	}
	if len(owners) > 0 {
		t.Errorf("the tokens of %v are left", owners)
	}
}

func TestAKubeletBeginsWithItsToken(t *testing.T) {
	token, err := tokens(kubernetes().Build(), begin).For(t.Context(), n1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := join.Cluster{Server: "https://10.0.0.9:6443", CA: []byte("CA")}.Kubeconfig(token)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil || config.Host != "https://10.0.0.9:6443" || config.BearerToken != token.Reveal() || string(config.CAData) != "CA" {
		t.Errorf("the kubeconfig is for %v (%v)", config, err)
	}
}
