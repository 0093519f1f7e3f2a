package model

// Effect is the effect of a step or a difference on a guest and its data.
type Effect string

// Effects, from harmless to grave.
const (
	EffectNew       Effect = "new"   // creates something new
	EffectLive      Effect = "live"  // the guest runs on
	EffectMoves     Effect = "moves" // the guest is migrated; live, if it runs
	EffectLater     Effect = "at the next start"
	EffectPartly    Effect = "partly live" // of a step: some of its differences are for the next start
	EffectPowerOff  Effect = "power off"   // a running guest stops, since that is wanted
	EffectRestart   Effect = "restart"     // a running guest stops and starts
	EffectReplace   Effect = "replace"     // the guest is destroyed and recreated
	EffectLosesData Effect = "loses data"  // a disk, a state or the whole guest is lost
)
