package status

import (
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	_ "github.com/proxplane/proxplane/test/kit/chance"
	"github.com/proxplane/proxplane/test/kit/golden"
)

var (
	gib = int64(1) << 30
	now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
)

func lab() *model.Observed {
	return &model.Observed{
		Nodes: map[string]*model.Node{
			"pve1": {Name: "pve1", Online: true, CPUs: 16, Memory: 64 * gib, Used: 20 * gib},
			"pve2": {Name: "pve2", CPUs: 16},
		},
		Guests: map[int]*model.Guest{
			101: {
				VMID: 101, Node: "pve1", Name: "web-1", Status: model.StatusRunning, CPUs: 2, Memory: 4 * gib, Disk: 40 * gib,
				Tags:      []string{"prod", "proxplane", model.StateTag(owner("VirtualMachine", "web-1"), "def")},
				Addresses: []netip.Prefix{netip.MustParsePrefix("fe80::1/64"), netip.MustParsePrefix("10.0.0.5/24")},
			},
			102:  {VMID: 102, Node: "pve1", Name: "a-machine-with-a-rather-long-name-that-somebody-chose", Status: model.StatusStopped, Lock: "backup", CPUs: 1, Memory: gib / 2, Disk: 8 * gib},
			9000: {VMID: 9000, Node: "pve1", Name: "ubuntu-22-template", Template: true},
		},
	}
}

func TestTablesReadWell(t *testing.T) {
	have := lab()
	vms := []VM{VMOf(have.Guests[101]), VMOf(have.Guests[102])}
	golden.Compare(t, "vms.txt", VMTable(vms).Text(Layout{Width: 80, Heading: true}))
	golden.Compare(t, "vms-wide.txt", VMTable(vms).Text(Layout{Wide: true, Heading: true}))
	var rows []VM
	for _, o := range everything().Objects {
		if o.Owner.Kind == "VirtualMachine" {
			rows = append(rows, Wanted(have.Guests[o.VMID-104711+101], o))
		}
	}
	golden.Compare(t, "summary.txt", SummaryTable(rows).Text(Layout{Width: 80, Heading: true}))
	golden.Compare(t, "summary-wide.txt", SummaryTable(rows).Text(Layout{Wide: true, Heading: true}))
	golden.Compare(t, "nodes.txt", NodeTable([]Node{NodeOf(have.Nodes["pve1"], have), NodeOf(have.Nodes["pve2"], have)}).Text(Layout{Width: 80, Heading: true}))
}

func TestContentTablesReadWell(t *testing.T) {
	rooms := map[string]model.Room{"pve1": {Total: 100 * gib, Used: 25 * gib}, "pve2": {Total: 200 * gib, Used: 199 * gib}}
	var storages []Storage
	storages = append(storages, StoragesOf(&model.Storage{Name: "local", Type: "dir", Content: map[string]bool{"iso": true, "vztmpl": true}, OnNode: rooms})...)
	storages = append(storages, StoragesOf(&model.Storage{Name: "nfs", Type: "nfs", Shared: true, Content: map[string]bool{"images": true}, OnNode: map[string]model.Room{"pve1": rooms["pve1"], "pve2": rooms["pve1"]}})...)
	storages = append(storages, StoragesOf(&model.Storage{Name: "away", Type: "nfs", Shared: true})...)
	golden.Compare(t, "storages.txt", StorageTable(storages).Text(Layout{Width: 80, Heading: true}))

	ready := true
	images := []Image{
		{Name: "ubuntu-22-template", Type: "template", VMID: 9000, Node: "pve1", Size: 8 * gib, Ours: true, Ready: &ready, Message: "up to date"},
		{Name: "debian.iso", Type: "iso", Volume: "local:iso/debian.iso", Node: "pve1", Size: 600 << 20},
	}
	golden.Compare(t, "images.txt", ImageTable(images, time.Time{}).Text(Layout{Width: 80, Heading: true}))

	g := lab().Guests[101]
	snapshots := []Snapshot{
		SnapshotOf(g, model.SnapshotInfo{Name: "clean", Description: "just installed", Time: now.Add(-50 * time.Hour).Unix()}),
		SnapshotOf(g, model.SnapshotInfo{Name: "before-upgrade", Parent: "clean", Memory: true, Time: now.Add(-5 * time.Minute).Unix(),
			Description: model.Describe("Pre-maintenance\nsnapshot", model.Marker{Owner: owner("VMSnapshot", "before-upgrade")})}),
	}
	golden.Compare(t, "snapshots.txt", SnapshotTable(snapshots, now).Text(Layout{Width: 80, Heading: true}))

	tasks := []Task{
		{UPID: "UPID:pve1:1", Node: "pve1", Type: "qmclone", ID: "9000", User: "root@pam", Started: now.Add(-20 * time.Second), Running: true, Status: "running"},
		{UPID: "UPID:pve1:2", Node: "pve1", Type: "qmstart", ID: "101", User: "automation@pve!proxplane", Started: now.Add(-3 * time.Hour), Ended: now.Add(-3*time.Hour + 2*time.Second), Status: "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout"},
	}
	golden.Compare(t, "tasks.txt", TaskTable(tasks, now).Text(Layout{Width: 80, Heading: true}))
}

func TestTablesFitWhenTheyCan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zé ]{0,60}`)
		table := Table{Columns: []Column{{Name: "NAME"}, {Name: "FLEX", Flex: true}, {Name: "N", Right: true}, {Name: "MESSAGE", Flex: true}}}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			table.Rows = append(table.Rows, []string{
				rapid.StringMatching(`[a-z]{0,20}`).Draw(t, "name"), text.Draw(t, "flex"), rapid.StringMatching(`[0-9]{1,6}`).Draw(t, "n"), text.Draw(t, "message"),
			})
		}
		got := table.Text(Layout{Width: 80, Heading: true})
		if n := strings.Count(got, "\n"); n != len(table.Rows)+1 {
			t.Fatalf("%d lines for %d rows:\n%s", n, len(table.Rows), got)
		}
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > 80 || strings.TrimRight(line, " ") != line {
				t.Fatalf("%q is too long or ends in blanks", line)
			}
		}
	})
}

// Names of machines are up to 63 characters long, and differ at their ends.
func TestNamesThatBeginAlikeDifferOnNarrowScreens(t *testing.T) {
	long := strings.Repeat("a-name-of-a-machine-", 3)
	vms := []VM{{Name: long + "a1", Message: "up to date"}, {Name: long + "a2", Message: "up to date"}, {Name: "web", Message: strings.Repeat("a long message ", 10)}}
	for _, width := range []int{60, 80, 120} {
		for name, table := range map[string]Table{"vms": VMTable(vms), "summary": SummaryTable(vms)} {
			text := table.Text(Layout{Width: width, Heading: true})
			seen := map[string]bool{}
			for line := range strings.Lines(text) {
				first, _, _ := strings.Cut(line, " ")
				if seen[first] || utf8.RuneCountInString(strings.TrimSpace(line)) > width {
					t.Errorf("%s, %d wide: %q is there twice, or its line is too long:\n%s", name, width, first, text)
				}
				seen[first] = true
			}
		}
	}
}

func TestLongNamesKeepPlansNarrow(t *testing.T) {
	o := plan.Object{Owner: owner("VirtualMachine", strings.Repeat("x", 63)), VMID: 104711, Node: "a-node-with-a-name", Gone: true}
	for line := range strings.Lines(Page{Width: 80}.Object(o)) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("%q is too long", line)
		}
	}
}

func TestWordsForNumbers(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{Size(0), "0 B"}, {Size(1023), "1023 B"}, {Size(1536), "1.5 KiB"}, {Size(4 * gib), "4 GiB"}, {Size(150*gib + gib/2), "150 GiB"},
		{Duration(1400 * time.Millisecond), "1s"}, {Duration(200 * time.Second), "3m20s"}, {Duration(25 * time.Minute), "25m"},
		{Duration(90 * time.Minute), "1h30m"}, {Duration(30 * time.Hour), "30h"}, {Duration(100 * time.Hour), "4d"}, {Duration(-time.Second), "0s"},
		{Percent(1, 3), "33%"}, {Percent(1, 0), "-"}, {Count(1, "VM"), "1 VM"}, {Count(2, "VM"), "2 VMs"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
