package model

// Reasons of steps that name fields or commands. They are codes: package status has the words
// for each door. Other reasons are sentences for all doors.
const (
	WhyOn       = "it is to be on"
	WhyResume   = "it is paused, and is to be on"
	WhyWake     = "it is suspended to disk, and is to be on"
	WhyOff      = "it is to be off"
	WhyShutdown = "it is to be off, and its guest may shut down"

	WhyRetained       = "it is to be retained"
	WhyRetainedUnused = "nothing of this set names it, and it was to be retained"
	WhyAdopted        = "it was adopted, and nothing says that it is to be deleted"

	WhyPooled = "it is to be in no pool"
	WhyHA     = "it is to be under HA"
	WhyData   = "it has first-boot data"
)

// Whys lists all of them.
var Whys = []string{WhyOn, WhyResume, WhyWake, WhyOff, WhyShutdown, WhyRetained, WhyRetainedUnused, WhyAdopted, WhyPooled, WhyHA, WhyData}
