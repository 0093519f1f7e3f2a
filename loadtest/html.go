package loadtest

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"time"
)

//go:embed report.html
var page string

// HTML writes the report as a self-contained page with charts, without external scripts,
// fonts or images.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{"short": Short, "round": round, "times": times}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		*Report
		Latency  barChart
		Requests barChart
		Time     timeChart
	}{r, r.latencies(), r.requests(), r.times()})
}

func round(f float64) string { return fmt.Sprintf("%.1f", f) }

// Color returns a class of the page's style. The colors distinguish the operations, also
// for those who see fewer of them, on light and dark grounds.
func (f Figures) Color() int {
	if i := slices.Index(order, f.Operation); i >= 0 {
		return i
	}
	return len(order)
}

// Sizes of the charts, in the units of their drawings.
const (
	chartWidth = 960
	left       = 190 // of the axis: names stand there
	right      = 110 // behind the bars: figures
	rowHeight  = 30
	timeHeight = 320
	bottom     = 40
)

// barChart has a row for each operation.
type barChart struct {
	Width, Height int
	Ticks         []tick
	Rows          []barRow
}

type barRow struct {
	Name, Label string
	Color       int
	Y, Middle   float64
	From        float64
	Bars        []bar // each over the one before
}

type bar struct {
	Width float64
	Title string
}

// tick is a line across a chart, with its text.
type tick struct {
	At   float64
	Text string
}

// scale maps values to places by their logarithm: operations that take milliseconds
// and such that take minutes are on one page.
type scale struct{ low, high, from, to float64 }

func (s scale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	return s.from + (math.Log(v)-math.Log(s.low))/(math.Log(s.high)-math.Log(s.low))*(s.to-s.from)
}

// ticks are at the powers of ten, and of times in words.
func (s scale) ticks(text func(float64) string) []tick {
	var list []tick
	for v := s.low; v <= s.high*1.001; v *= 10 {
		list = append(list, tick{s.at(v), text(v)})
	}
	return list
}

// decades widens a range of values to powers of ten.
func decades(low, high float64) (float64, float64) {
	down, up := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if up <= down {
		up = down + 1
	}
	return math.Pow(10, down), math.Pow(10, up)
}

// bounds are the shortest and the longest of the times that a chart shows.
func (r *Report) bounds() (low, high float64) {
	low, high = math.Inf(1), 0
	for _, f := range r.Figures {
		for _, s := range f.Samples {
			low, high = min(low, s.Took.Seconds()), max(high, s.Took.Seconds())
		}
	}
	const millisecond = 0.001
	if high < millisecond {
		return millisecond, 1
	}
	return decades(max(low, millisecond), high)
}

func seconds(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%g ms", math.Round(v*1000))
	}
	return fmt.Sprintf("%g s", math.Round(v))
}

// latencies shows half, nearly all, and all but the slowest.
func (r *Report) latencies() barChart {
	low, high := r.bounds()
	s := scale{low, high, left, chartWidth - right}
	c := barChart{Width: chartWidth, Ticks: s.ticks(seconds)}
	for _, f := range r.Sorted() {
		row := c.row(f, s.from)
		row.Label = Short(f.P50) + " / " + Short(f.P99)
		for _, p := range []struct {
			name string
			took time.Duration
		}{{"P99", f.P99}, {"P95", f.P95}, {"P50", f.P50}} {
			row.Bars = append(row.Bars, bar{s.at(p.took.Seconds()) - s.from, fmt.Sprintf("%s %s: %s", f.Operation, p.name, Short(p.took))})
		}
		c.add(row)
	}
	return c
}

// requests shows how many each operation takes, and how many of them write.
func (r *Report) requests() barChart {
	most := 1.0
	for _, f := range r.Figures {
		most = max(most, f.Requests)
	}
	per := (chartWidth - left - right) / most
	c := barChart{Width: chartWidth}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for v := 0.0; v <= most; v += step {
		c.Ticks = append(c.Ticks, tick{left + v*per, fmt.Sprintf("%g", v)})
	}
	for _, f := range r.Sorted() {
		row := c.row(f, left)
		row.Label = fmt.Sprintf("%.1f, %.1f writes", f.Requests, f.Writes)
		row.Bars = []bar{
			{f.Requests * per, fmt.Sprintf("%s: %.1f requests each", f.Operation, f.Requests)},
			{f.Writes * per, fmt.Sprintf("%s: %.1f writes each", f.Operation, f.Writes)},
		}
		c.add(row)
	}
	return c
}

func (c *barChart) row(f Figures, from float64) barRow {
	y := float64(len(c.Rows) * rowHeight)
	return barRow{Name: f.Operation, Color: f.Color(), Y: y + rowHeight/6.0, Middle: y + rowHeight/2.0, From: from}
}

func (c *barChart) add(row barRow) {
	c.Rows = append(c.Rows, row)
	c.Height = len(c.Rows)*rowHeight + bottom
}

// Bottom returns the position at which the rows end.
func (c barChart) Bottom() int { return c.Height - bottom }

// timeChart has a dot for each operation: when it began, and how long it took.
type timeChart struct {
	Width, Height, Bottom, Left, Right int
	Ticks, Times                       []tick
	Dots                               []dot
}

type dot struct {
	X, Y   float64
	Color  int
	Failed bool
	Title  string
}

func (r *Report) times() timeChart {
	low, high := r.bounds()
	const from = 60
	c := timeChart{Width: chartWidth, Height: timeHeight + bottom, Bottom: timeHeight, Left: from, Right: chartWidth - 10}
	y := scale{low, high, timeHeight, 10}
	c.Ticks = y.ticks(seconds)
	end := time.Second
	for _, f := range r.Figures {
		for _, s := range f.Samples {
			end = max(end, s.Start+s.Took)
		}
	}
	per := float64(c.Right-from) / end.Seconds()
	for v, step := 0.0, niceStep(end.Seconds()); v <= end.Seconds(); v += step {
		c.Times = append(c.Times, tick{from + v*per, fmt.Sprintf("%g s", v)})
	}
	for _, f := range r.Figures {
		for _, s := range f.Samples {
			title := fmt.Sprintf("%s, %.1f s after the beginning: %s", f.Operation, s.Start.Seconds(), Short(s.Took))
			if s.Error != "" {
				title += ", failed: " + s.Error
			}
			c.Dots = append(c.Dots, dot{from + s.Start.Seconds()*per, y.at(s.Took.Seconds()), f.Color(), s.Error != "", title})
		}
	}
	return c
}

// niceStep parts a range into five to ten steps of a round length.
func niceStep(all float64) float64 {
	for step := math.Pow(10, math.Floor(math.Log10(all/10))); ; step *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if all/(step*n) <= 10 {
				return step * n
			}
		}
	}
}
