package pve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// taskNode is a node of taskServer.
const taskNode = "pve1"

// taskServer is just enough of a Proxmox to run tasks: they last as long as they are told to, by
// the clock of the test.
type taskServer struct {
	*recorder
	mu     sync.Mutex
	tasks  []*fakeTask
	away   map[string]int // node → status that it answers with
	listed map[string]int // node → status of its list

	all    int           // status of the list of the cluster
	unseen bool          // the list of the cluster shows nothing
	late   time.Duration // it shows ends so much later
}

type fakeTask struct {
	upid   UPID
	ends   time.Time
	exit   string
	log    []string
	hidden bool // from the list
	gone   bool
}

func newTaskServer() *taskServer {
	s := &taskServer{away: map[string]int{}, listed: map[string]int{}}
	s.recorder = &recorder{answer: s.serve}
	return s
}

// start begins a task that ends after a while.
func (s *taskServer) start(node, kind string, id int, lasts time.Duration, exit string) *fakeTask {
	s.mu.Lock()
	defer s.mu.Unlock()
	upid, err := ParseUPID(fmt.Sprintf("UPID:%s:%08X:00000001:%08X:%s:%d:ci@pve!t:", node, len(s.tasks)+1, time.Now().Unix(), kind, id))
	if err != nil {
		panic(err)
	}
	task := &fakeTask{upid: upid, ends: time.Now().Add(lasts), exit: exit, log: []string{"working"}}
	s.tasks = append(s.tasks, task)
	return task
}

func (t *fakeTask) running() bool { return time.Now().Before(t.ends) }

func (s *taskServer) set(node string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[node] = status
}

func (s *taskServer) serve(w http.ResponseWriter, r seen) {
	parts := strings.Split(strings.TrimPrefix(r.path, "/"), "/")
	if len(parts) >= 3 && parts[0] == "nodes" && parts[2] == "qemu" {
		// Any write starts a task of a minute.
		answerData(w, s.start(parts[1], "qmclone", 100, time.Minute, "OK").upid)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.path == "/cluster/tasks" {
		s.listAll(w)
		return
	}
	node := parts[1]
	if status := s.away[node]; status != 0 {
		w.WriteHeader(status)
		return
	}
	if len(parts) == 3 {
		s.list(w, node, r.query)
		return
	}
	text, _ := url.PathUnescape(parts[3])
	i := slices.IndexFunc(s.tasks, func(t *fakeTask) bool { return t.upid.String() == text })
	if i < 0 || s.tasks[i].gone {
		w.WriteHeader(400)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"data": nil, "message": "Parameter verification failed.\n", "errors": map[string]string{"upid": "no such task"},
		})
		return
	}
	task := s.tasks[i]
	if len(parts) == 4 { // stop it
		task.ends, task.exit = time.Now(), "received interrupt"
		answerData(w, nil)
		return
	}
	switch parts[4] {
	case "status":
		data := map[string]any{"upid": task.upid, "status": "running", "node": node, "type": task.upid.Type}
		if !task.running() {
			data["status"], data["exitstatus"] = "stopped", task.exit
		}
		answerData(w, data)
	case "log":
		start, _ := strconv.Atoi(r.query.Get("start"))
		limit, _ := strconv.Atoi(r.query.Get("limit"))
		lines := []map[string]any{}
		for n := start; n < min(len(task.log), start+limit); n++ {
			lines = append(lines, map[string]any{"n": n + 1, "t": task.log[n]})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": lines, "total": len(task.log)})
	}
}

// list answers as Proxmox: running ones first, then the others, newest first.
func (s *taskServer) list(w http.ResponseWriter, node string, query url.Values) {
	if status := s.listed[node]; status != 0 {
		w.WriteHeader(status)
		return
	}
	since, _ := strconv.ParseInt(query.Get("since"), 10, 64)
	limit, _ := strconv.Atoi(query.Get("limit"))
	var active, archive []map[string]any
	for _, task := range slices.Backward(s.tasks) {
		entry := map[string]any{"upid": task.upid, "node": node, "starttime": task.upid.Start, "type": task.upid.Type, "id": task.upid.ID}
		switch {
		case task.upid.Node != node || task.hidden || task.gone || task.upid.Start < since:
		case task.running():
			entry["status"] = "RUNNING"
			active = append(active, entry)
		default:
			entry["status"], entry["endtime"] = task.exit, task.ends.Unix()
			archive = append(archive, entry)
		}
	}
	all := append(active, archive...)
	_ = json.NewEncoder(w).Encode(map[string]any{"data": all[:min(limit, len(all))], "total": len(all)})
}

// listAll answers as Proxmox: of each node 25 tasks, those that run first. A node that is away tells nobody what has ended there.
func (s *taskServer) listAll(w http.ResponseWriter) {
	if s.all != 0 {
		w.WriteHeader(s.all)
		return
	}
	count, list := map[string]int{}, []map[string]any{}
	for _, ended := range []bool{false, true} {
		for _, task := range slices.Backward(s.tasks) {
			node := task.upid.Node
			runs := s.away[node] != 0 || time.Now().Before(task.ends.Add(s.late))
			if ended == runs || s.unseen || task.hidden || task.gone || ended && count[node] >= 25 {
				continue
			}
			count[node]++
			entry := map[string]any{"upid": task.upid, "node": node, "starttime": task.upid.Start, "type": task.upid.Type, "id": task.upid.ID}
			if ended {
				entry["status"], entry["endtime"] = task.exit, task.ends.Unix()
			}
			list = append(list, entry)
		}
	}
	answerData(w, list)
}
