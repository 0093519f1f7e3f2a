package pvesim

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestGuestsGoOnAfterARestartOfTheSimulator(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		session := func(test func(l *lab)) {
			sim, err := New(town("9.2"), WithData(dir))
			if err != nil {
				t.Fatal(err)
			}
			tr, stop := sim.Transport()
			test(&lab{(&office{t: t, sim: sim, http: &http.Client{Transport: tr}}).root()})
			stop()
			if err := sim.Close(); err != nil {
				t.Fatal(err)
			}
		}
		session(func(l *lab) {
			l.linux()
			l.start()
			time.Sleep(20 * time.Second)
			l.run("POST", labVM+"/snapshot", "snapname", "ram", "vmstate", "1")
			l.agent("POST", "file-write", "file", "/tmp/x", "content", "kept")
		})
		session(func(l *lab) {
			l.is("running")
			if got := l.exec("cat", "/tmp/x")["out-data"]; got != "kept" {
				t.Errorf("the file holds %v", got)
			}
			l.exec("sh", "-c", "mkdir /tmp/d && touch /tmp/d/x")
			l.exec("poweroff")
		})
		session(func(l *lab) {
			l.is("running")
			time.Sleep(5 * time.Second)
			l.is("stopped")
			l.run("POST", labVM+"/snapshot/ram/rollback")
			l.is("running")
			l.agent("POST", "ping")
		})
	})
}
