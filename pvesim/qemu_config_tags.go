package pvesim

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// uniqueTags is a list of tags as it is stored: in one case and sorted,
// unless the datacenter wants otherwise.
func (s *Sim) uniqueTags(list string) string {
	style := s.state.Options["tag-style"]
	cased, _ := property(style, "case-sensitive", "")
	ordering, _ := property(style, "ordering", "")
	var tags []string
	for _, tag := range schema.SplitList(list) {
		if !perlBool(cased) {
			tag = strings.ToLower(tag)
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if ordering != "config" {
		slices.Sort(tags)
	}
	return strings.Join(tags, ";")
}

// needTags checks that who may change a VM's tags from old to new.
func (s *Sim) needTags(who *access.Identity, vmid int, old, new string) error {
	if err := s.needVM(who, vmid, "", "VM.Config.Options"); err != nil {
		return err
	}
	if s.has(who, "/", "Sys.Modify") {
		return nil
	}
	count := map[string]int{}
	for _, tag := range schema.SplitList(new) {
		count[tag]++
	}
	for _, tag := range schema.SplitList(old) {
		count[tag]--
	}
	for _, tag := range sortedKeys(count) {
		if count[tag] != 0 && !s.mayTag(who, tag) {
			return denied("/, Sys.Modify for modifying tag '" + tag + "'")
		}
	}
	return nil
}

// mayTag reports whether somebody without Sys.Modify may use a tag: registered
// ones never, others as the datacenter allows.
func (s *Sim) mayTag(who *access.Identity, tag string) bool {
	if slices.Contains(s.registeredTags(), tag) {
		return false
	}
	allow, listed := s.tagAccess()
	switch {
	case allow == "free":
		return true
	case allow != "none" && slices.Contains(listed, tag):
		return true
	}
	return allow == "existing" && s.tagSeen(who, tag)
}
