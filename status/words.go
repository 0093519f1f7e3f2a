package status

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
)

// kindWords are the short names of kinds, as people type them.
var kindWords = map[string]string{
	"VirtualMachine": "vm",
	"VMClone":        "clone",
	"VMImage":        "image",
	"VMSnapshot":     "snapshot",
	"Share":          "share",
	// Those of a machine that are left over.
	"VirtualMachineSnapshots": "snapshots",
	"VMCloneSnapshots":        "snapshots",
	"VMClass":                 "class",
	"VMPlacementPolicy":       "placement",
	"Provider":                "provider",
}

// KindWord returns a kind's short name: "vm" for VirtualMachine.
func KindWord(kind string) string {
	if w, ok := kindWords[kind]; ok {
		return w
	}
	return strings.ToLower(kind)
}

// Name returns an object as people name it: "vm/web-1".
func Name(k model.Key) string {
	name := k.Name
	if k.Namespace != "" {
		name = k.Namespace + "/" + name
	}
	return KindWord(k.Kind) + "/" + name
}

// shortNames are keys as plans write them, and as people do.
var shortNames = strings.NewReplacer(
	"virtualmachine/", "vm/", "vmclone/", "clone/", "vmimage/", "image/", "vmsnapshot/", "snapshot/",
)

// whys are the reasons of steps that are codes, in words.
var whys = map[string]string{
	model.WhyOn:             "powerState is On",
	model.WhyResume:         "it is paused, and powerState is On",
	model.WhyWake:           "it is suspended to disk, and powerState is On",
	model.WhyOff:            "powerState is Off",
	model.WhyShutdown:       "powerState is OffGraceful",
	model.WhyRetained:       "deletionPolicy is Retain",
	model.WhyRetainedUnused: "this set no longer declares it, and its deletionPolicy was Retain",
	model.WhyAdopted:        "it was adopted, and stays unless its manifest says deletionPolicy: Delete",
	model.WhyPooled:         "pool isn't set",
	model.WhyHA:             "ha is set",
	model.WhyData:           "userData",
}

// Sentence rewrites the text of a plan for people: codes in words, and objects by their short
// names.
func Sentence(text string) string {
	if words, ok := whys[text]; ok {
		return words
	}
	return shortNames.Replace(text)
}

// Size prints bytes in three or four characters and a unit: "1.5 GiB".
func Size(n int64) string {
	if n < 0 {
		return "-"
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	text := strconv.FormatFloat(f, 'f', 1, 64)
	if f >= 100 || i == 0 {
		text = strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strings.TrimSuffix(text, ".0") + " " + units[i]
}

// Duration prints a time span as people say it: "12s", "3m20s", "5h", "12d".
func Duration(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 10*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Percent formats a part of a whole.
func Percent(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", (100*part+whole/2)/whole)
}

// Count returns "1 VM" or "3 VMs"; another plural can be given.
func Count(n int, what string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + what
	case len(plural) > 0:
		return strconv.Itoa(n) + " " + plural[0]
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// orDash makes empty cells visible.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// oneLine keeps texts of several lines from breaking a table.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
