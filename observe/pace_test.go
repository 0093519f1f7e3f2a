package observe

import (
	"testing"
	"time"
)

func TestGuestsAreAskedWhenTheyAreLikelyToAnswer(t *testing.T) {
	ask := func(p *pace, boots time.Duration, late time.Duration) (asked time.Duration, questions int) {
		down := time.Duration(0)
		for asked = p.expected() + late; ; asked += again(asked) {
			if questions++; asked >= boots {
				p.learn(down, asked, asked+10*time.Millisecond)
				return asked, questions
			}
			down = asked
		}
	}
	p := &pace{}
	for i := range 100 {
		at, questions := ask(p, 20*time.Second, 0)
		if i >= 10 && (at > 25*time.Second || questions > 3) {
			t.Fatalf("guest %d that boots in 20 s is asked %d times and answers after %v", i, questions, at)
		}
	}
	for i := range 200 {
		if at, _ := ask(p, 5*time.Second, 0); i >= 150 && at > 7*time.Second {
			t.Fatalf("guest %d that boots in 5 s now is asked after %v", i, at)
		}
	}
}

func TestGuestsThatAreAskedLateDoNotSeemSlow(t *testing.T) {
	p := &pace{}
	for range 100 {
		p.learn(0, time.Minute, time.Minute+10*time.Millisecond) // so many others were before it
	}
	if got := p.expected(); got != firstAsk {
		t.Errorf("expects an answer after %v, though nobody was found not to answer after %v", got, firstAsk)
	}
}

func TestAQuestionThatWaitsTellsWhenTheAgentCameUp(t *testing.T) {
	p := &pace{}
	p.learn(0, 3*time.Second, 5500*time.Millisecond)
	if got := p.expected(); got != 5500*time.Millisecond {
		t.Errorf("expects an answer after %v, want 5.5s", got)
	}
}
