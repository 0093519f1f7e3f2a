package status

import (
	"strings"
	"unicode/utf8"
)

// Table is rows of texts under headings.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Column is a column of a table.
type Column struct {
	Name  string
	Wide  bool // only in the wide form
	Right bool // numbers
	Flex  bool // is cut if the table doesn't fit the screen
	Ends  bool // is cut in the middle: names differ at their ends
}

// Layout is the layout of a table.
type Layout struct {
	Wide    bool
	Width   int // of the screen; 0: nothing is cut
	Heading bool
}

// gap stands between columns.
const gap = "  "

// Columns that may be cut are cut to the fair width, and further only where the table
// doesn't fit the screen otherwise.
const fair, least = 12, 8

// Text returns the table with its columns aligned, one line a row. No line ends in blanks.
func (t Table) Text(l Layout) string {
	var shown []int
	for i, c := range t.Columns {
		if !c.Wide || l.Wide {
			shown = append(shown, i)
		}
	}
	widths := t.widths(shown, l)
	var b strings.Builder
	if l.Heading {
		heading := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			heading[i] = c.Name
		}
		t.line(&b, heading, shown, widths)
	}
	for _, row := range t.Rows {
		t.line(&b, row, shown, widths)
	}
	return b.String()
}

// widths returns the columns' widths, with those that may be cut made to fit.
func (t Table) widths(shown []int, l Layout) []int {
	widths := make([]int, len(t.Columns))
	total := 0
	for n, i := range shown {
		if l.Heading {
			widths[i] = utf8.RuneCountInString(t.Columns[i].Name)
		}
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(row, i)))
		}
		total += widths[i]
		if n > 0 {
			total += len(gap)
		}
	}
	if l.Width == 0 {
		return widths
	}
	for _, least := range []int{fair, least} {
		for total > l.Width && t.narrow(shown, widths, least) {
			total--
		}
	}
	return widths
}

// narrow takes a character from the widest column that may be cut, the last of several,
// and reports whether there is one that is wider than the least width.
func (t Table) narrow(shown, widths []int, least int) bool {
	widest := -1
	for _, i := range shown {
		if t.Columns[i].Flex && widths[i] > least && (widest < 0 || widths[i] >= widths[widest]) {
			widest = i
		}
	}
	if widest < 0 {
		return false
	}
	widths[widest]--
	return true
}

func (t Table) line(b *strings.Builder, row []string, shown, widths []int) {
	var line strings.Builder
	for n, i := range shown {
		if n > 0 {
			line.WriteString(gap)
		}
		text := cut(cell(row, i), widths[i])
		if t.Columns[i].Ends {
			text = CutMiddle(cell(row, i), widths[i])
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if t.Columns[i].Right {
			line.WriteString(pad + text)
		} else {
			line.WriteString(text + pad)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}

func cell(row []string, i int) string {
	if i >= len(row) {
		return ""
	}
	return orDash(oneLine(row[i]))
}

// cut shortens a text and shows that it did.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	runes := []rune(text)
	return string(runes[:width-1]) + "…"
}

// CutMiddle shortens a text in its middle, so that names with a common prefix still differ.
func CutMiddle(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width || width < 3 {
		return cut(text, width)
	}
	tail := (width - 1) / 2
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// Wrap breaks a text into lines of at most width characters, the further ones
// indented. Words aren't broken. Width 0 leaves the text as it is.
func Wrap(text string, width int, indent string) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	var b strings.Builder
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	b.WriteString(lead)
	at := utf8.RuneCountInString(lead)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + indent)
			at = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
