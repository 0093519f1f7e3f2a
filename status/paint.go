package status

import "github.com/proxplane/proxplane/plan"

// Paint colours texts for a terminal; the zero value leaves them as they are.
type Paint struct{ On bool }

func (p Paint) with(code, text string) string {
	if !p.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The colours mean the same everywhere: green is new or good, yellow changes
// or needs attention, red destroys or failed, grey is beside the point.

func (p Paint) Green(text string) string  { return p.with("32", text) }
func (p Paint) Yellow(text string) string { return p.with("33", text) }
func (p Paint) Red(text string) string    { return p.with("31", text) }
func (p Paint) Grey(text string) string   { return p.with("90", text) }
func (p Paint) Bold(text string) string   { return p.with("1", text) }

// Sign returns the character in front of a step.
func Sign(e plan.Effect) string {
	switch e {
	case plan.New:
		return "+"
	case plan.Restart, plan.PowerOff:
		return "!"
	case plan.Replace, plan.LosesData:
		return "-"
	}
	return "~"
}

// effect colours a text by what a step does.
func (p Paint) effect(e plan.Effect, text string) string {
	switch e {
	case plan.New:
		return p.Green(text)
	case plan.Replace, plan.LosesData:
		return p.Red(text)
	}
	return p.Yellow(text)
}
