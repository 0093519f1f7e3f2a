package change

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cli/version"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// savedPlan is a plan in a file: what was decided, from which manifests, and what it
// was decided on. It holds no manifest, no secret and no credentials; whoever applies
// it has them.
type savedPlan struct {
	Kind      string         `json:"kind"` // savedKind
	Proxplane string         `json:"proxplane"`
	Made      time.Time      `json:"made"`
	Files     []string       `json:"files"`
	Set       string         `json:"set"`
	Provider  string         `json:"provider,omitempty"`
	Selector  string         `json:"selector,omitempty"`
	Prune     bool           `json:"prune,omitempty"`
	Deleted   bool           `json:"delete,omitempty"`
	Quick     bool           `json:"quick,omitempty"`
	Most      string         `json:"maxUnavailable,omitempty"`
	Allow     model.Allow    `json:"allow"`
	Salt      string         `json:"salt"`
	Manifests string         `json:"manifests"` // salted digest of all that was read
	Clusters  []savedCluster `json:"clusters"`
}

// savedCluster is the plan for one cluster.
type savedCluster struct {
	Provider string            `json:"provider,omitempty"`
	Plan     status.PlanView   `json:"plan"`
	Seen     map[string]string `json:"seen"` // by object: the guest that is its own, as it was
}

const savedKind = "proxplane.io/plan.v1"

// isFile reports whether -o names a file to save the plan in, and not a format.
func isFile(output string) bool { return strings.ContainsAny(output, "./\\") }

// save writes plans into a file that only its owner can read.
func (c *change) save(file string, list []*target.Site, plans []plan.Plan) error {
	s := savedPlan{
		Kind: savedKind, Proxplane: version.This().Version, Made: time.Now().UTC().Truncate(time.Second),
		Files: c.Files, Set: c.Set, Provider: c.Provider, Selector: c.Selector, Prune: c.prune, Deleted: c.deleted, Quick: c.quick, Most: c.most, Allow: c.allow,
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it never fails
	s.Salt = hex.EncodeToString(salt)
	var err error
	if s.Manifests, err = digestOf(c.Files, salt); err != nil {
		return err
	}
	for i, one := range list {
		s.Clusters = append(s.Clusters, savedCluster{one.Provider.Name, status.CLI.ViewOf(plans[i]), seen(one, plans[i])})
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return ui.WriteWhole(file, append(text, '\n'), 0o600)
}

// digestOf is a digest of all files that the manifests are read from. It is salted and
// slow, so that a password in them can't be guessed from it.
func digestOf(paths []string, salt []byte) (string, error) {
	sum := sha256.New()
	for _, path := range paths {
		files, err := manifest.Files(path)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return "", manifest.NotRead(file, err)
			}
			fmt.Fprintf(sum, "%d %s %d ", len(file), filepath.ToSlash(file), len(text))
			sum.Write(text)
		}
	}
	key, err := pbkdf2.Key(sha256.New, string(sum.Sum(nil)), salt, 300_000, sha256.Size)
	return hex.EncodeToString(key), err
}

// seen is what plans were made on: where each object's guest was, whether it ran, and
// which edition of its config it had.
func seen(c *target.Site, p plan.Plan) map[string]string {
	out := map[string]string{}
	c.Observer.View(func(have *model.Observed) {
		for _, o := range p.Objects {
			g := have.Guests[o.VMID]
			if g == nil {
				continue
			}
			text := fmt.Sprintf("VM %d on %s, %s", g.VMID, g.Node, g.Status)
			if g.Config != nil {
				text += ", config " + g.Config.Digest
			}
			out[status.Name(o.Owner.Key)] = text
		}
	})
	return out
}

// ofThePlan are the flags that say what is planned: a saved plan has them, so that beside it they
// would mean nothing, or something else than what was looked at.
var ofThePlan = []string{
	"set", "provider", "selector", "recursive", "prune", "quick", "max-unavailable",
	"allow-restart", "allow-stop", "allow-replace", "allow-data-loss", "allow-move",
}

// loadPlan reads a plan that was saved, and takes over what it was made with.
func (a *applying) loadPlan(cmd *cobra.Command, file string) error {
	if len(a.Files) > 0 {
		return ui.Advise(errors.New("either a saved plan or manifests: not both"), "A saved plan names its manifests itself.")
	}
	for _, name := range ofThePlan {
		if cmd.Flags().Changed(name) {
			return ui.Advise(fmt.Errorf("either a saved plan or --%s: not both", name), "A saved plan has these flags of its own; plan again with --"+name+" to change it.")
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return manifest.NotRead(file, err)
	}
	defer f.Close()
	s := &savedPlan{}
	const most = 64 << 20
	if err := json.NewDecoder(io.LimitReader(f, most)).Decode(s); err != nil || s.Kind != savedKind {
		return ui.Advise(fmt.Errorf("%s isn't a saved plan", file), "proxplane plan -f machines.yaml -o change.plan makes one; manifests are given with -f.")
	}
	a.Files, a.Provider, a.Selector = s.Files, s.Provider, s.Selector
	if err := cmd.Flags().Set("set", s.Set); err != nil { // as if it was typed
		return err
	}
	a.prune, a.deleted, a.quick, a.most, a.allow = s.Prune, s.Deleted, s.Quick, s.Most, s.Allow
	salt, err := hex.DecodeString(s.Salt)
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", file, err)
	}
	now, err := digestOf(s.Files, salt)
	if err != nil {
		return err
	}
	if now != s.Manifests {
		return ui.Advise(fmt.Errorf("the manifests have changed since the plan in %s was made", file), s.again(file))
	}
	a.saved, a.savedFile = s, file
	return nil
}

// again is the command that makes the plan anew.
func (s *savedPlan) again(file string) string {
	words := []string{"proxplane plan"}
	for _, f := range s.Files {
		words = append(words, "-f "+f)
	}
	for flag, on := range map[string]bool{"--prune": s.Prune, "--delete": s.Deleted, "--quick": s.Quick, "--allow-stop": s.Allow.Stop, "--allow-restart": s.Allow.Restart, "--allow-replace": s.Allow.Replace, "--allow-data-loss": s.Allow.Data} {
		if on {
			words = append(words, flag)
		}
	}
	slices.Sort(words[1+len(s.Files):])
	if s.Most != "" {
		words = append(words, "--max-unavailable "+s.Most)
	}
	if s.Selector != "" {
		words = append(words, "-l '"+s.Selector+"'")
	}
	if s.Set != target.DefaultSet {
		words = append(words, "--set "+s.Set)
	}
	return fmt.Sprintf("Look at a new one: %s -o %s", strings.Join(words, " "), file)
}

// holds reports in an error what is otherwise than when the plan was saved.
func (s *savedPlan) holds(file string, list []*target.Site, plans []plan.Plan) error {
	var diffs []string
	if len(list) != len(s.Clusters) {
		diffs = append(diffs, "the manifests are about other clusters")
	}
	for i := 0; i < min(len(list), len(s.Clusters)); i++ {
		was := s.Clusters[i]
		diffs = append(diffs, changedSince(was, savedCluster{list[i].Provider.Name, status.CLI.ViewOf(plans[i]), seen(list[i], plans[i])})...)
	}
	if len(diffs) == 0 {
		return nil
	}
	const most = 10
	if more := len(diffs) - most; more > 0 {
		diffs = append(diffs[:most], fmt.Sprintf("and %d more", more))
	}
	return ui.Advise(fmt.Errorf("the plan in %s doesn't hold any more, so nothing was changed", file), append(diffs, s.again(file))...)
}

func changedSince(was, is savedCluster) []string {
	if was.Provider != is.Provider {
		return []string{fmt.Sprintf("it is about provider/%s, and not about provider/%s", is.Provider, was.Provider)}
	}
	before := map[string]status.ObjectView{}
	for _, o := range was.Plan.Objects {
		before[o.Object] = o
	}
	var diffs []string
	for _, o := range is.Plan.Objects {
		old, ok := before[o.Object]
		delete(before, o.Object)
		switch {
		case !ok:
			diffs = append(diffs, o.Object+" wasn't in it")
		case stepsOf(old) != stepsOf(o):
			diffs = append(diffs, fmt.Sprintf("%s: it said %q, now it is %q", o.Object, stepsOf(old), stepsOf(o)))
		case otherwise(was.Seen[o.Object], is.Seen[o.Object]):
			diffs = append(diffs, fmt.Sprintf("%s has changed meanwhile: it was %s, and is %s", o.Object, orNone(was.Seen[o.Object]), orNone(is.Seen[o.Object])))
		}
	}
	for name := range before {
		diffs = append(diffs, name+" isn't there any more")
	}
	slices.Sort(diffs)
	return diffs
}

// otherwise compares what was seen. A config that was read only once is no difference.
func otherwise(was, is string) bool {
	a, aConfig, aRead := strings.Cut(was, ", config ")
	b, bConfig, bRead := strings.Cut(is, ", config ")
	return a != b || aRead && bRead && aConfig != bConfig
}

func orNone(text string) string {
	if text == "" {
		return "not there"
	}
	return text
}

// unchanged are the reasons of objects that nothing is to be done for. Whether a guest agent has answered meanwhile
// makes no other plan.
var unchanged = map[model.Reason]bool{model.ReasonUpToDate: true, model.ReasonUnread: true, model.WaitAgent: true}

// stepsOf is all that decides what is done to an object.
func stepsOf(o status.ObjectView) string {
	parts := []string{}
	if o.VMID != 0 {
		parts = append(parts, fmt.Sprintf("VM %d on %s", o.VMID, o.Node))
	}
	for _, s := range o.Steps {
		parts = append(parts, fmt.Sprintf("%s: %s (%s)", s.What, s.Why, s.Effect))
	}
	for _, r := range o.Refused {
		parts = append(parts, "refused: "+r.What)
	}
	if len(o.Steps)+len(o.Refused) == 0 && !unchanged[o.Reason] {
		parts = append(parts, string(o.Reason))
	}
	return strings.Join(parts, "; ")
}
