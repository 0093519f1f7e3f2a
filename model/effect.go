package model

// Effect is what a step or a difference means for a guest and its data.
type Effect string

// Effects, from harmless to grave.
const (
	EffectNew       Effect = "new"   // makes something that wasn't there
	EffectLive      Effect = "live"  // the guest runs on
	EffectMoves     Effect = "moves" // the guest goes to another node; one that runs goes on running
	EffectLater     Effect = "at the next start"
	EffectPartly    Effect = "partly live" // of a step: some of its differences are for the next start
	EffectPowerOff  Effect = "power off"   // a running guest stops, since that is wanted
	EffectRestart   Effect = "restart"     // a running guest stops and starts
	EffectReplace   Effect = "replace"     // the guest is destroyed and made anew
	EffectLosesData Effect = "loses data"  // a disk, a state or the whole guest goes
)
