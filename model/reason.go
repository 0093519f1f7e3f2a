package model

// Reason is why an object has its state, in one word for scripts. The set is closed: each
// has a row in a table, see [Reason.Facts].
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
	WaitUnfit      Reason = "DoesNotFit" // the manifest needs something that this Proxmox doesn't have
	WaitVMID       Reason = "NoVMID"
	WaitTurn       Reason = "VMIDWanted"
	WaitAddress    Reason = "NoAddress"          // no address of a pool is free
	WaitClaim      Reason = "AddressUnconfirmed" // others may have claimed the same address
	WaitForeign    Reason = "TakenByOthers"
	WaitForbidden  Reason = "SourceForbidden" // its source doesn't belong to its namespace
	WaitNode       Reason = "NodeOffline"
	WaitAgent      Reason = "AgentSilent"
	WaitRestart    Reason = "RestartNeeded"
	WaitRefused    Reason = "NotAllowed"
	WaitFailed     Reason = "StepFailed"
	WaitDependents Reason = "StillInUse"
	WaitPending    Reason = "BootingUp"
	WaitRequest    Reason = "RequestInFlight" // a request whose answer was lost may still change it
	WaitRoot       Reason = "NeedsRoot"
	WaitPrivilege  Reason = "PrivilegeMissing" // Proxmox would refuse a step to these credentials
	WaitHost       Reason = "NotOnNode"
	WaitRelease    Reason = "ReleaseTooOld"
	WaitUnseen     Reason = "NotVisible"
	WaitDisk       Reason = "DiskMissing" // the storage doesn't have a disk of the guest's
	WaitHA         Reason = "HAError"     // the HA manager has given up on the guest
	WaitRollout    Reason = "RolloutInProgress"
	WaitPaused     Reason = "Paused"       // somebody has paused the object
	WaitObserved   Reason = "ObserveOnly"  // the object is only observed
	WaitAway       Reason = "ProxmoxAway"  // Proxmox as a whole doesn't answer
	WaitLogin      Reason = "LoginRefused" // it refuses the credentials
	WaitOther      Reason = "OtherProxmox" // it is another cluster than before
	WaitReread     Reason = "NotReadYet"   // it answers again, and the guest hasn't been read since
)

// Reasons of objects that don't wait for something in Proxmox.
const (
	ReasonUpToDate Reason = "UpToDate"
	ReasonGone     Reason = "Gone"
	ReasonChanging Reason = "Changing"
	ReasonUnread   Reason = "Unread"

	ReasonInvalid    Reason = "Invalid"          // the spec of the object is invalid
	ReasonForbidden  Reason = "Forbidden"        // its author isn't allowed to use what it names
	ReasonElsewhere  Reason = "Elsewhere"        // somebody else manages the object, or did so
	ReasonProvider   Reason = "ProviderNotReady" // the object with the connection to Proxmox is invalid
	ReasonUnused     Reason = "Unused"           // nobody needs the object
	ReasonConnected  Reason = "Connected"        // Proxmox answers
	ReasonConnecting Reason = "Connecting"       // it hasn't answered yet
	ReasonRejected   Reason = "Rejected"         // a new login or address doesn't work, the former one stays in use
)

// Ending says who or what ends a wait.
type Ending int

// The endings.
const (
	EndsByPerson Ending = iota // a person has to change something
	EndsByHolder               // the person who paused the object has to resume it
	EndsByReturn               // a node or Proxmox comes back; a person may have to help
	EndsByObject               // another object makes progress
	EndsByItself               // it passes by itself
)

// ReasonFacts are the properties of a reason. The zero value is for a reason without a row in
// the table: a person has to act.
type ReasonFacts struct {
	Ends Ending
	// Listed: the lists of Proxmox show its end.
	Listed bool
	// Unmade: the object's guest doesn't exist, and its creation hasn't begun.
	Unmade bool
	// Away: Proxmox as a whole can't be used, or couldn't when the guest was last read.
	Away bool
	// Unasked: Proxmox isn't asked about the object.
	Unasked bool
	// Asks: another object ends it, but a person may have to act for that.
	Asks bool
	// Hidden: it isn't known whether the guest exists that was made.
	Hidden bool
	// HandsOff: nothing of the object is changed meanwhile, not even disks that Proxmox has left of it.
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
	WaitPrivilege: {Ends: EndsByPerson, Listed: true, Unmade: true},
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

// Facts returns the properties of the reason.
func (r Reason) Facts() ReasonFacts { return reasons[r] }

// Blocks reports whether an object that waits for the reason can't continue until a person
// changes something.
func (r Reason) Blocks() bool { return r.Facts().Ends == EndsByPerson }

// Passes reports whether the wait may end by itself.
func (r Reason) Passes() bool {
	switch r.Facts().Ends {
	case EndsByItself, EndsByReturn:
		return true
	}
	return false
}

// Concerns reports whether the reason is worth an event: a person may have to act, and
// nobody has chosen that state.
func (r Reason) Concerns() bool {
	switch f := r.Facts(); f.Ends {
	case EndsByPerson, EndsByReturn:
		return true
	default:
		return f.Asks
	}
}
