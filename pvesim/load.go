package pvesim

import (
	"time"

	"github.com/proxplane/proxplane/pve/schema"
)

// proxyTimeout is how long pveproxy waits for another daemon.
const proxyTimeout = 30 * time.Second

// punish delays the answer to wrong credentials.
func (a *actor) punish() { a.sleep(a.world.Load.AuthDelay.D()) }

// reach takes a request to the node that does the work and to a worker of
// its daemon; release gives the worker back.
func (a *actor) reach(ep *schema.Endpoint, in map[string]any, entry string) (release func(), err error) {
	node, err := a.route(ep, in, entry)
	if err != nil {
		return nil, err
	}
	daemon := "pveproxy"
	if ep.Protected {
		daemon = "pvedaemon"
	}
	release, ok := a.acquire(daemon+"@"+node, a.world.Load.Workers, proxyTimeout)
	if !ok {
		return nil, emptyError(596, "Connection timed out")
	}
	done := false
	defer func() {
		if !done {
			release() // a signal came while we slept
		}
	}()
	a.sleep(a.world.Timing.Request.D())
	done = true
	return release, nil
}

// route finds the node that a request is for, as the entry node sees it.
func (a *actor) route(ep *schema.Endpoint, in map[string]any, entry string) (string, error) {
	name := entry
	switch {
	case ep.ProxyTo != "":
		if name, _ = in[ep.ProxyTo].(string); name == "" {
			return "", badParam(ep.ProxyTo, "proxyto parameter does not exist")
		}
	case in[checkNode] != nil && ep.Param(checkNode) != nil:
		name, _ = in[checkNode].(string) // is checked by that node itself
	}
	if name == "localhost" || name == entry {
		return entry, nil
	}
	switch n := a.state.Nodes[name]; {
	case n == nil:
		return "", die("hostname lookup '%s' failed - failed to get address info for: %s: Name or service not known", name, name)
	case n.State != Online:
		return "", emptyError(595, "No route to host")
	}
	return name, nil
}

// checkNode is the parameter with which lists of mappings are sent to a node.
const checkNode = "check-node"

// recycled reports whether the worker that answered ends after this request,
// and its connections with it.
func (s *Sim) recycled() bool {
	every := s.world.Load.Recycle
	return every > 0 && s.log.total%every == every-1
}
