package schema

import (
	"strings"
)

// calendarEvent checks a time specification like systemd's:
// "mon..fri 2:30", "*-1,7-1", "*/15", "daily".
func calendarEvent(_ *Schema, value string) error {
	text := strings.TrimFunc(value, isSpace)
	problem := ""
	if text == "" {
		problem = "unable to parse calendar event - event is empty"
	} else if rest, kind := parseEvent(text); kind != "" {
		problem = "unable to parse calendar event at '" + rest + "' - " + kind
	}
	if problem != "" {
		return fail("invalid calendar event '%s' - %s\n", value, problem)
	}
	return nil
}

// parseEvent gives where and why parsing stopped, or nothing.
func parseEvent(i string) (rest, problem string) {
	if n, ok := strings.CutSuffix(i, "UTC"); ok {
		i = strings.TrimRight(n, " ")
	}
	days := i != "" && isAlpha(i[0])
	if days {
		switch i {
		case "minutely", "hourly", "daily", "weekly", "monthly", "yearly", "annually", "quarterly",
			"semiannually", "semi-annually":
			return "", ""
		}
		n, ok := separated(i, weekdays)
		if !ok {
			return i[:alphas(i)], `Context("weekday")`
		}
		i = strings.TrimLeft(n, " \t")
	}
	date := false
	for _, spec := range [][]component{
		{{max: 2200}, {sep: "-", max: 13}, {sep: "-", max: 32}},
		{{max: 13}, {sep: "-", max: 32}},
	} {
		if n, ok := sequence(i, spec); ok {
			i, date = strings.TrimLeft(n, " \t"), true
			break
		}
	}
	n, hasTime := timeSpec(i)
	if hasTime {
		i = n
	}
	switch {
	case !days && !date && !hasTime:
		return i, `Context("date or time specification")`
	case i != "":
		return i, "Nom(Eof)"
	}
	return "", ""
}

func timeSpec(i string) (rest string, ok bool) {
	if n, ok := components(24)(i); ok && strings.HasPrefix(n, ":") {
		if rest, ok := sequence(n[1:], []component{{max: 60}}); ok {
			return optional(rest), true
		}
		return i, false
	}
	rest, ok = components(60)(i)
	return optional(rest), ok
}

// optional takes the seconds when they are there.
func optional(i string) string {
	if rest, ok := sequence(i, []component{{sep: ":", max: 60}}); ok {
		return rest
	}
	return i
}

type component struct {
	sep string
	max int
}

func sequence(i string, parts []component) (string, bool) {
	for _, part := range parts {
		n, ok := strings.CutPrefix(i, part.sep)
		if !ok {
			return i, false
		}
		if i, ok = components(part.max)(n); !ok {
			return i, false
		}
	}
	return i, true
}

type parser func(i string) (rest string, ok bool)

// separated takes one or more items with commas between them.
func separated(i string, item parser) (string, bool) {
	i, ok := item(i)
	if !ok {
		return i, false
	}
	for strings.HasPrefix(i, ",") {
		n, ok := item(i[1:])
		if !ok {
			break
		}
		i = n
	}
	return i, true
}

// components takes "*", "*/5" or a list of values below max.
func components(max int) parser {
	return func(i string) (string, bool) {
		if rest, ok := strings.CutPrefix(i, "*"); ok {
			if step, ok := strings.CutPrefix(rest, "/"); ok {
				n, v, ok := number(step, max)
				if !ok {
					return i, false
				}
				if v > 0 {
					return n, true
				}
			}
			return rest, true
		}
		return separated(i, func(i string) (string, bool) { return valueOrRange(i, max) })
	}
}

// valueOrRange takes "5", "5..10", "5/2" or "5..10/2".
func valueOrRange(i string, max int) (string, bool) {
	i, start, ok := number(i, max)
	if !ok {
		return i, false
	}
	if to, isRange := strings.CutPrefix(i, ".."); isRange {
		if n, end, ok := number(to, max); ok {
			if start > end {
				return i, false
			}
			i = n
		}
	}
	if step, ok := strings.CutPrefix(i, "/"); ok {
		n, _, ok := number(step, max)
		return n, ok
	}
	return i, true
}

func number(i string, max int) (rest string, v int, ok bool) {
	n := len(i) - len(strings.TrimLeft(i, "0123456789"))
	if n == 0 || numeric(i[:n]) >= float64(max) {
		return i, 0, false
	}
	return i[n:], int(numeric(i[:n])), true
}

// weekdays takes a day or a range of days.
func weekdays(i string) (string, bool) {
	i, ok := weekday(i)
	if !ok {
		return i, false
	}
	if to, ok := strings.CutPrefix(i, ".."); ok {
		if n, ok := weekday(to); ok {
			return n, true
		}
	}
	return i, true
}

func weekday(i string) (string, bool) {
	n := alphas(i)
	switch strings.ToLower(i[:n]) {
	case "monday", "mon", "tuesday", "tue", "wednesday", "wed", "thursday", "thu",
		"friday", "fri", "saturday", "sat", "sunday", "sun":
		return i[n:], true
	}
	return i, false
}

func alphas(i string) int {
	n := 0
	for n < len(i) && isAlpha(i[n]) {
		n++
	}
	return n
}

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
