package progress

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// bars shows all objects that are being worked on side by side, one line each,
// and writes above them what is done. What doesn't fit on the screen is counted
// in the last line.
type bars struct {
	u    *ui.UI
	file *os.File
	box  *mpb.Progress
	now  func() time.Time

	mu sync.Mutex
	lines
	all, ready int
	places     map[model.Owner]int // in the plan, which lines keep
	shown      map[model.Owner]*mpb.Bar
	hidden     []model.Owner // under way, with no line yet
	total      *mpb.Bar
	began      time.Time
}

const (
	barWidth    = 20
	refreshRate = 100 * time.Millisecond
)

func newBars(u *ui.UI, f *os.File, l lines, all plan.Plan) *bars {
	b := &bars{
		u: u, file: f, lines: l, shown: map[model.Owner]*mpb.Bar{}, places: map[model.Owner]int{}, now: time.Now, began: time.Now(),
		box: mpb.New(mpb.WithOutput(f), mpb.WithAutoRefresh(), mpb.WithRefreshRate(refreshRate)),
	}
	for i, o := range all.Objects {
		b.places[o.Owner] = i
		if !o.Ready() {
			b.all++
		}
	}
	b.total = b.add(1<<30, b.totalLine)
	if _, same := ui.Terminal(u.Err); same {
		u.SetDivert(overBars{b.box})
	}
	return b
}

// add puts a line on the screen that is made anew each time it is drawn.
func (b *bars) add(priority int, text func() string) *mpb.Bar {
	draw := decor.Any(func(decor.Statistics) string {
		b.mu.Lock()
		defer b.mu.Unlock()
		// What is typed meanwhile, such as the ^C of Ctrl-C, moves the cursor; the
		// library only moves it up again.
		return "\r" + status.Safe(text())
	})
	return b.box.New(0, nil, mpb.BarPriority(priority), mpb.PrependDecorators(draw), mpb.BarFillerTrim())
}

func (b *bars) WantsFractions() bool { return true }

func (b *bars) Event(e engine.Event) {
	b.mu.Lock()
	r, line, ended := b.take(e)
	if ended && r != nil {
		b.ready++
	}
	var drop *mpb.Bar
	var show []*row
	switch {
	case r == nil:
	case ended:
		drop = b.shown[r.owner]
		delete(b.shown, r.owner)
		b.hidden = slices.DeleteFunc(b.hidden, func(k model.Owner) bool { return k == r.owner })
		show = b.promote()
	case b.shown[r.owner] == nil && !slices.Contains(b.hidden, r.owner):
		b.hidden = append(b.hidden, r.owner)
		show = b.promote()
	}
	b.mu.Unlock()
	// The library draws under a lock of its own and asks for ours: so it is
	// called without.
	if drop != nil {
		drop.Abort(true)
	}
	for _, r := range show {
		bar := b.add(b.order(r), func() string { return b.rowLine(r) })
		b.mu.Lock()
		b.shown[r.owner] = bar
		b.mu.Unlock()
	}
	if line != "" && (e.Kind == engine.Ready || e.Kind == engine.Failed || e.Action == "RemoveDisk" && e.Kind == engine.Done) {
		fmt.Fprintln(overBars{b.box}, status.Safe(line))
	}
}

// overBars writes above the lines. The cursor may not be at the margin: see add.
type overBars struct{ box *mpb.Progress }

func (a overBars) Write(p []byte) (int, error) {
	if _, err := a.box.Write(append([]byte("\r"), p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// order keeps lines in the order of the plan.
func (b *bars) order(r *row) int {
	if i, ok := b.places[r.owner]; ok {
		return i
	}
	return len(b.places) + 1
}

// promote gives lines to those that have none, as far as the screen goes.
func (b *bars) promote() []*row {
	room := b.height() - len(b.shown)
	var list []*row
	for room > 0 && len(b.hidden) > 0 {
		owner := b.hidden[0]
		b.hidden = b.hidden[1:]
		if r := b.rows[owner]; r != nil {
			list = append(list, r)
			room--
		}
	}
	return list
}

// height is how many objects get a line of their own.
func (b *bars) height() int {
	_, height, err := term.GetSize(int(b.file.Fd()))
	if err != nil {
		height = 24
	}
	return max(1, height-4)
}

// rowLine is "⠹ vm/web-1  clone ubuntu (9000) …  [=====>    ] 45%  12s".
func (b *bars) rowLine(r *row) string {
	width := ui.ScreenWidth(b.file) - 1
	text := r.step
	if r.running <= 0 && r.waits != "" {
		text = r.waits
	}
	right := status.Duration(b.now().Sub(r.began))
	if r.fraction > 0 && r.running > 0 {
		right = bar(r.fraction) + "  " + right
	}
	left := spinner(b.now()) + " " + pad(status.CutMiddle(status.Name(r.owner.Key), b.names), b.names) + "  "
	room := width - utf8.RuneCountInString(left) - utf8.RuneCountInString(right) - 2
	return left + fitted(text, max(0, room)) + "  " + b.page.Grey(right)
}

// totalLine is the last line: how many are ready, and how many have no line.
func (b *bars) totalLine() string {
	text := fmt.Sprintf("%d of %d ready  %s", b.ready, b.all, status.Duration(b.now().Sub(b.began)))
	if n := len(b.hidden); n > 0 {
		text += fmt.Sprintf("  … and %d more under way", n)
	}
	return b.page.Grey(text)
}

func bar(fraction float64) string {
	fraction = min(1, max(0, fraction))
	n := int(fraction*barWidth + 0.5)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("=", n), strings.Repeat(" ", barWidth-n), int(fraction*100+0.5))
}

func spinner(now time.Time) string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(frames[int(now.UnixMilli()/100)%len(frames)])
}

// fitted fills or cuts a text to a width.
func fitted(text string, width int) string {
	if n := utf8.RuneCountInString(text); n <= width {
		return text + strings.Repeat(" ", width-n)
	}
	if width < 1 {
		return ""
	}
	return string([]rune(text)[:width-1]) + "…"
}

// End takes the lines off the screen.
func (b *bars) End() {
	b.mu.Lock()
	left := []*mpb.Bar{b.total}
	for _, bar := range b.shown {
		left = append(left, bar)
	}
	b.mu.Unlock()
	for _, bar := range left {
		bar.Abort(true)
	}
	b.box.Wait()
	b.u.SetDivert(nil)
}
