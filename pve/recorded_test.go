package pve

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/proxplane/proxplane/pve/schema"
)

// recordedAnswer is an answer that Proxmox VE was recorded to give.
type recordedAnswer struct {
	From, Method, Path string
	Body               json.RawMessage
}

func recordedAnswers(t testing.TB) []recordedAnswer {
	t.Helper()
	file, err := os.Open("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []recordedAnswer
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a recordedAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// answersTo gives the recorded answers by the template of their call.
func answersTo(t *testing.T, s *schema.Schema) map[string][]recordedAnswer {
	byCall := map[string][]recordedAnswer{}
	variable := regexp.MustCompile(`\$\{[^}]*\}`)
	for _, a := range recordedAnswers(t) {
		if endpoint, _ := s.Find(a.Method, variable.ReplaceAllString(a.Path, "x")); endpoint != nil {
			byCall[endpoint.String()] = append(byCall[endpoint.String()], a)
		}
	}
	return byCall
}

func TestRecordedAnswersAreUnderstoodByTheCallsTheyAreFor(t *testing.T) {
	s, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	byCall := answersTo(t, s)
	used := map[string]bool{}
	for _, call := range apiCalls {
		if call.name == "Task.Wait" || call.name == "Client.Watch" {
			continue // not one answer, but many
		}
		probe := obliging()
		if err := call.make(t.Context(), client(t, virtual(probe)), 9); err != nil {
			t.Fatal(err)
		}
		endpoint, _ := s.Find(probe.all[len(probe.all)-1].method, probe.all[len(probe.all)-1].path)
		for _, answer := range byCall[endpoint.String()] {
			used[endpoint.String()] = true
			h := &recorder{}
			h.answer = func(w http.ResponseWriter, r seen) {
				if found, _ := s.Find(r.method, r.path); found != endpoint {
					answerData(w, map[string]any{"ticket": "x", "CSRFPreventionToken": "y"})
					return
				}
				_, _ = w.Write(answer.Body)
			}
			if err := call.make(t.Context(), client(t, virtual(h)), 9); err != nil {
				t.Errorf("%s: %s: %v", answer.From, call.name, err)
			}
		}
	}
	if len(used) < 50 {
		t.Errorf("only %d kinds of recorded answers were of use", len(used))
	}
}

// answerOf is a client that gets a recorded answer, whatever it asks.
func answerOf(t *testing.T, from string) *Client {
	all := recordedAnswers(t)
	i := slices.IndexFunc(all, func(a recordedAnswer) bool { return a.From == from })
	if i < 0 {
		t.Fatalf("no recorded answer %s", from)
	}
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) { _, _ = w.Write(all[i].Body) }}
	return client(t, virtual(h))
}

func TestRecordedAnswersMeanWhatTheySay(t *testing.T) {
	ctx := t.Context()
	check := func(what string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", what, err, diff)
		}
	}
	config, err := answerOf(t, "09-create:10").VM("pve1", 101).Config(ctx, ConfigOptions{})
	check("memory", "256", config.Settings["memory"], err)
	if _, ok := config.Settings["digest"]; ok || len(config.Digest) != 40 {
		t.Errorf("digest: %q in %v", config.Digest, config.Settings)
	}
	perms, err := answerOf(t, "02-access:21").Access().Permissions(ctx, "", "/vms")
	check("permissions", true, perms["/vms"]["VM.Audit"], err)
	created, err := answerOf(t, "01-auth:18").Access().CreateToken(ctx, "root@pam", "full", NewToken{})
	check("token", "token root@pam!full", created.Credentials().String(), err)
	snapshots, parent, err := answerOf(t, "13-snapshot:10").VM("pve1", 102).Snapshots(ctx)
	check("parent", "s1", parent, err)
	check("snapshots", []Snapshot{{Name: "s1", Description: "first", Time: time.Unix(1794707333, 0)}}, snapshots, err)
	interfaces, err := answerOf(t, "30-agent-guest:6").VM("pve1", 300).Agent().Interfaces(ctx)
	if err != nil || len(interfaces) != 2 || interfaces[1].Addresses[0].Address != "192.168.77.50" || interfaces[1].Addresses[0].Prefix != 24 {
		t.Errorf("interfaces: %+v, %v", interfaces, err)
	}
	status, err := answerOf(t, "30-agent-guest:17").VM("pve1", 300).Agent().ExecStatus(ctx, 155)
	check("exec", ExecStatus{Exited: true, ExitCode: 3, Out: "out\n", Err: "err\n"}, status, err)
	pending, err := answerOf(t, "30-agent-guest:47").VM("pve1", 300).Pending(ctx)
	i := slices.IndexFunc(pending, func(p PendingSetting) bool { return p.Key == "memory" })
	check("pending", PendingSetting{Key: "memory", Value: new("512"), Pending: new("768")}, pending[i], err)
	members, err := answerOf(t, "50-cluster-3node:1").Cluster().Status(ctx)
	check("members", 4, len(members), err)
	storages, err := answerOf(t, "06-storage:8").Node("pve1").Storages(ctx, StorageFilter{})
	check("content", true, slices.Contains(storages[0].Content, "snippets"), err)
	tasks, total, err := answerOf(t, "41-tasks-list:6").Node("pve1").Tasks(ctx, TaskFilter{})
	check("tasks in all", 5, total, err)
	check("a failed task", true, tasks[1].Err() != nil && !tasks[1].Running() && tasks[0].Err() == nil, nil)
	rules, err := answerOf(t, "33-ha:11").HA().Rules(ctx)
	check("rule", []string{"vm:301"}, rules[0].Resources, err)
}

// pipeListener is a network in memory.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func TestAClientWorksInMemoryAndInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: s}
		go func() { _ = server.Serve(l) }()
		defer server.Close()
		c := client(t, Config{
			Endpoints: []string{"http://pve1"}, Credentials: Token("ci@pve!t", "x"), TLS: TLS{Insecure: true}, Proxy: NoProxy,
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				if !strings.HasPrefix(address, "pve1") {
					t.Errorf("dialled %s", address)
				}
				ours, theirs := net.Pipe()
				select {
				case l.conns <- theirs:
					return ours, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
		})
		defer c.Close()
		upid, err := c.VM("pve1", 100).Clone(t.Context(), CloneOptions{NewID: 101})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := c.Task(upid).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < time.Minute || took > 70*time.Second {
			t.Errorf("a task of a minute took %v", took)
		}
	})
}
