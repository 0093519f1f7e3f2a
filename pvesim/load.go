package pvesim

import (
	"github.com/proxplane/proxplane/pve/schema"
)

// loadModel makes the daemons busy.
type loadModel struct{}

func (l *loadModel) init(s *Sim) {}

// punish delays the answer to wrong credentials.
func (l *loadModel) punish(a *actor) { a.sleep(a.world.Load.AuthDelay.D()) }

// reach takes a request to the node that does the work and to a worker of
// its daemon; release gives the worker back.
func (s *Sim) reach(a *actor, ep *schema.Endpoint, in map[string]any, entry string) (release func(), err error) {
	a.sleep(s.world.Timing.Request.D())
	if ep.ProxyTo != "" {
		name, _ := in[ep.ProxyTo].(string)
		if name != "" && name != "localhost" && name != entry {
			n := s.state.Nodes[name]
			if n == nil {
				return nil, die("no such cluster node '%s'", name)
			}
			if n.State != Online {
				return nil, emptyError(595, "No route to host")
			}
		}
	}
	return func() {}, nil
}
