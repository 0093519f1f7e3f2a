package pvesim

// Fault is a rule that makes something go wrong.
type Fault struct{}

type faultSet struct{}

func (f *faultSet) init(rules []Fault) {}

// match decides which faults hit a request.
func (f *faultSet) match(s *Sim, req *request) *activeFault { return &activeFault{} }

type activeFault struct{}

// before is what happens instead of, or ahead of, handling the request.
func (f *activeFault) before(a *actor, req *request) *answer { return nil }

// after is what becomes of the answer.
func (f *activeFault) after(a *actor, ans *answer) *answer { return ans }

// faultTask returns the text with which a task is made to fail.
func (s *Sim) faultTask(t *TaskInfo) string { return "" }
