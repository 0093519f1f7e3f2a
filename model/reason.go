package model

// Reason is why an object is as it is, in one word that scripts can go by. The set is
// closed: what holds for each is a row of one table, see [Reason.Facts].
type Reason string

// Reasons to wait.
const (
	WaitTask       Reason = "TaskRunning"
	WaitLock       Reason = "Locked"
	WaitOwner      Reason = "OwnerUnknown"
	WaitSource     Reason = "SourceNotReady"
	WaitTemplate   Reason = "TemplateNotReady"
	WaitPlace      Reason = "NoPlace"
	WaitMissing    Reason = "NotFound"   // something that a manifest names doesn't exist
	WaitUnfit      Reason = "DoesNotFit" // the manifest asks for what can't be had
	WaitVMID       Reason = "NoVMID"
	WaitTurn       Reason = "VMIDWanted"
	WaitAddress    Reason = "NoAddress"          // no address of a pool is free
	WaitClaim      Reason = "AddressUnconfirmed" // others may have claimed the same address
	WaitForeign    Reason = "TakenByOthers"
	WaitForbidden  Reason = "SourceForbidden" // what the object is made from is none of its namespace's
	WaitNode       Reason = "NodeOffline"
	WaitAgent      Reason = "AgentSilent"
	WaitRestart    Reason = "RestartNeeded"
	WaitRefused    Reason = "NotAllowed"
	WaitFailed     Reason = "StepFailed"
	WaitDependents Reason = "StillInUse"
	WaitPending    Reason = "BootingUp"
	WaitRequest    Reason = "RequestInFlight" // a request may still change it whose answer was lost
	WaitRoot       Reason = "NeedsRoot"
	WaitHost       Reason = "NotOnNode"
	WaitRelease    Reason = "ReleaseTooOld"
	WaitUnseen     Reason = "NotVisible"
	WaitDisk       Reason = "DiskMissing" // the storage doesn't have a disk of the guest's
	WaitHA         Reason = "HAError"     // the HA manager has given up on the guest
	WaitRollout    Reason = "RolloutInProgress"
	WaitPaused     Reason = "Paused"       // somebody has paused the object
	WaitObserved   Reason = "ObserveOnly"  // the object is only looked at
	WaitAway       Reason = "ProxmoxAway"  // Proxmox as a whole doesn't answer
	WaitLogin      Reason = "LoginRefused" // it refuses the credentials
	WaitOther      Reason = "OtherProxmox" // it is another one than before
	WaitReread     Reason = "NotReadYet"   // it answers again, and the guest wasn't read since
)

// Reasons of objects that don't wait for something in Proxmox.
const (
	ReasonUpToDate Reason = "UpToDate"
	ReasonGone     Reason = "Gone"
	ReasonChanging Reason = "Changing"
	ReasonUnread   Reason = "Unread"

	ReasonInvalid    Reason = "Invalid"          // the spec of the object is invalid
	ReasonForbidden  Reason = "Forbidden"        // it isn't allowed to those who have written it
	ReasonElsewhere  Reason = "Elsewhere"        // somebody else looks after the object, or did so
	ReasonProvider   Reason = "ProviderNotReady" // the object that says which Proxmox cluster is meant is invalid
	ReasonUnused     Reason = "Unused"           // nobody needs the object
	ReasonConnected  Reason = "Connected"        // Proxmox answers
	ReasonConnecting Reason = "Connecting"       // it hasn't answered yet
	ReasonRejected   Reason = "Rejected"         // a new login or address doesn't work, the former one does
)

// Ending is how a wait comes to its end.
type Ending int

// The endings.
const (
	EndsByPerson Ending = iota // a person has to change something
	EndsByHolder               // the person who holds the object has to let it go on
	EndsByReturn               // a node or Proxmox comes back; a person may have to see to it
	EndsByObject               // another object comes further
	EndsByItself               // it passes: being patient is enough
)

// ReasonFacts are what holds for a reason. The zero value is that of a reason which the table
// doesn't know: a person has to look.
type ReasonFacts struct {
	Ends Ending
	// Listed: the lists of Proxmox show when it is over.
	Listed bool
	// Unmade: the object's guest isn't there, and nobody has begun to make it.
	Unmade bool
	// Away: Proxmox as a whole can't be used, or couldn't when the guest was last looked at.
	Away bool
	// Unasked: nobody asks Proxmox about the object.
	Unasked bool
	// Asks: though another object ends it, a person may have to do something for that.
	Asks bool
	// Hidden: nobody can tell whether a guest that was made is there.
	Hidden bool
	// HandsOff: nothing of the object is touched meanwhile, not even what Proxmox has left of it.
	HandsOff bool
}

// reasons is the table. A test has it that every reason has its row.
var reasons = map[Reason]ReasonFacts{
	WaitTask:     {Ends: EndsByItself, HandsOff: true},
	WaitLock:     {Ends: EndsByItself, Listed: true, HandsOff: true},
	WaitOwner:    {Ends: EndsByItself, Listed: true, HandsOff: true, Hidden: true},
	WaitTemplate: {Ends: EndsByItself, Listed: true, Unmade: true},
	WaitTurn:     {Ends: EndsByItself},
	WaitClaim:    {Ends: EndsByItself, Listed: true},
	WaitAgent:    {Ends: EndsByItself},
	WaitPending:  {Ends: EndsByItself, Listed: true},
	WaitRequest:  {Ends: EndsByItself, Listed: true},
	WaitFailed:   {Ends: EndsByItself, HandsOff: true}, // it is tried again

	WaitSource:     {Ends: EndsByObject, Listed: true, Unmade: true},
	WaitRollout:    {Ends: EndsByObject, Listed: true},
	WaitDependents: {Ends: EndsByObject, Listed: true, Asks: true},

	WaitNode:  {Ends: EndsByReturn, Listed: true, HandsOff: true, Hidden: true},
	WaitAway:  {Ends: EndsByReturn, Away: true, Hidden: true},
	WaitLogin: {Ends: EndsByPerson, Away: true, Hidden: true},
	WaitOther: {Ends: EndsByPerson, Away: true, Hidden: true},

	WaitReread: {Ends: EndsByItself, Away: true, Hidden: true},

	WaitPlace:     {Ends: EndsByPerson, Listed: true, Unmade: true},
	WaitMissing:   {Ends: EndsByPerson, Listed: true, Unmade: true},
	WaitUnfit:     {Ends: EndsByPerson, Listed: true, Unmade: true},
	WaitVMID:      {Ends: EndsByPerson, Listed: true, Unmade: true},
	WaitAddress:   {Ends: EndsByPerson, Listed: true, Unmade: true},
	WaitForeign:   {Ends: EndsByPerson, Unmade: true, Hidden: true},
	WaitRoot:      {Ends: EndsByPerson, Unmade: true},
	WaitHost:      {Ends: EndsByPerson, Unmade: true},
	WaitRelease:   {Ends: EndsByPerson, Unmade: true},
	WaitUnseen:    {Ends: EndsByPerson, Listed: true, Hidden: true},
	WaitHA:        {Ends: EndsByPerson, Listed: true},
	WaitForbidden: {Ends: EndsByPerson},
	WaitRestart:   {Ends: EndsByPerson},
	WaitRefused:   {Ends: EndsByPerson},
	WaitDisk:      {Ends: EndsByPerson},

	WaitPaused:   {Ends: EndsByHolder},
	WaitObserved: {Ends: EndsByHolder},

	ReasonInvalid:   {Ends: EndsByPerson, Unasked: true, Hidden: true},
	ReasonForbidden: {Ends: EndsByPerson, Unasked: true, Hidden: true},
	ReasonElsewhere: {Ends: EndsByPerson, Unasked: true, Hidden: true},
	ReasonProvider:  {Ends: EndsByPerson, Unasked: true, Hidden: true},
	ReasonRejected:  {Ends: EndsByPerson},

	ReasonUpToDate:   {Ends: EndsByItself},
	ReasonGone:       {Ends: EndsByItself},
	ReasonChanging:   {Ends: EndsByItself},
	ReasonUnread:     {Ends: EndsByItself, Hidden: true},
	ReasonUnused:     {Ends: EndsByItself},
	ReasonConnected:  {Ends: EndsByItself},
	ReasonConnecting: {Ends: EndsByItself},
}

// Facts are what holds for the reason.
func (r Reason) Facts() ReasonFacts { return reasons[r] }

// Blocks reports whether nothing but a person's change can bring an object further that
// waits for the reason.
func (r Reason) Blocks() bool { return r.Facts().Ends == EndsByPerson }

// Passes reports whether it is worth being patient.
func (r Reason) Passes() bool {
	switch r.Facts().Ends {
	case EndsByItself, EndsByReturn:
		return true
	}
	return false
}

// Concerns reports whether a person should hear of the reason: there may be something to do
// about it, and it isn't as somebody wants it.
func (r Reason) Concerns() bool {
	switch f := r.Facts(); f.Ends {
	case EndsByPerson, EndsByReturn:
		return true
	default:
		return f.Asks
	}
}
