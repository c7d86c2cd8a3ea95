package filewatch_test

import (
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/sys"
	"hob/scheduler/filewatch"
)

func TestAFileIsCreatedWrittenRenamedAndRemoved(t *testing.T) {
	w := newWatchedHome(t)
	w.put("old.txt", "old\n")
	one := w.watch(nil)
	w.begin()
	w.put("a.txt", "one\ntwo\n")
	w.tells("created a.txt, 8 bytes")
	w.put("a.txt", "one\n2\n")
	w.tells("created a.txt, 8 bytes", "changed a.txt, 6 bytes")
	w.rename("a.txt", "b.txt")
	w.tells("created a.txt, 8 bytes", "changed a.txt, 6 bytes", "renamed b.txt (was a.txt), 6 bytes")
	must(t, os.Remove(w.dir+"/b.txt"))
	w.tells("created a.txt, 8 bytes", "changed a.txt, 6 bytes", "renamed b.txt (was a.txt), 6 bytes", "removed b.txt")
	in := w.store.Inbox()[1]
	want := event.In{
		Source: "watch:files", ExtID: in.ExtID, Session: "watch:files", Kind: event.Fire, Rank: event.RankRest, Trust: event.Owner, Tainted: true,
		Sender: "files", ReplyTo: event.ToOwner, Received: in.Received,
	}
	text := "[watch files: 1 changed]\n- changed " + w.dir + "/a.txt, 6 bytes\n\n--- " + w.dir + "/a.txt\n+++ " + w.dir + "/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
	if len(in.Parts) != 2 || in.Parts[0].Text != "Look." || in.Parts[1].Text != text {
		t.Errorf("parts %+v", in.Parts)
	}
	in.Parts = nil
	if got, w := in, want; got.Source != w.Source || got.Session != w.Session || got.Kind != w.Kind || got.Rank != w.Rank || got.Trust != w.Trust ||
		!got.Tainted || got.Typed || got.Sender != w.Sender || got.ReplyTo != w.ReplyTo {
		t.Errorf("row %+v, want %+v", got, w)
	}
	w.whole(one.ID)
}

// Content that is the same as before is nothing; content that comes back is new.
func TestOnlyContentCounts(t *testing.T) {
	w := newWatchedHome(t)
	w.put("a", "first")
	one := w.watch(nil)
	w.begin()
	w.put("a", "first")
	must(t, os.Chmod(w.dir+"/a", 0o640)) //nolint:gosec // the bits are not looked at
	w.put("b", "temp")
	must(t, os.Remove(w.dir+"/b"))
	must(t, os.Mkdir(w.dir+"/empty", 0o700))
	w.marker()
	if got := w.quiet(); len(got) > 0 {
		t.Errorf("told: %q", got)
	}
	for i, text := range []string{"second", "first", "second"} {
		w.put("a", text)
		w.until("the next content", func() bool { return len(w.quiet()) == i+1 })
	}
	if f := w.store.File(one.ID, w.dir+"/a"); f.Version != 4 {
		t.Errorf("version %d after four contents", f.Version)
	}
	ids := map[string]bool{}
	for _, in := range w.store.Inbox() {
		ids[in.ExtID] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d ids for 4 events", len(ids))
	}
}

func TestWhatChangedWhileHobWasDownIsFound(t *testing.T) {
	w := newWatchedHome(t)
	for _, name := range []string{"same", "written", "removed", "moved", "sub/deep", "gone/x"} {
		w.put(name, "content of "+name)
	}
	one := w.watch(nil)
	w.begin()
	w.end()
	if len(w.store.Inbox()) > 0 {
		t.Errorf("the first look told something: %q", w.store.Lines())
	}
	w.put("written", "new")
	must(t, os.Remove(w.dir+"/removed"))
	must(t, os.RemoveAll(w.dir+"/gone"))
	w.rename("moved", "sub/moved")
	w.put("sub/new", "n")
	w.begin()
	w.tells("removed gone/x", "removed removed", "renamed sub/moved (was moved), 16 bytes", "created sub/new, 1 byte", "changed written, 3 bytes")
	w.whole(one.ID)
	w.end()
	w.begin()
	w.marker()
	if got := w.quiet(); len(got) != 5 {
		t.Errorf("told again: %q", got[5:])
	}
}

// Nothing is committed and nothing lost while the store refuses.
func TestACrashBeforeOrAfterTheCommitLosesNothingAndDoublesNothing(t *testing.T) {
	w := newWatchedHome(t)
	one := w.watch(nil)
	w.begin()
	refused := make(chan struct{}, 8)
	w.store.Refuse(func(filewatch.Seen) error { refused <- struct{}{}; return os.ErrClosed })
	w.put("a", "x")
	<-refused
	w.end()
	w.store.Refuse(nil)
	w.begin()
	w.tells("created a, 1 byte")
	w.end()
	w.begin()
	w.marker()
	if got := w.quiet(); !slices.Equal(got, []string{"created a, 1 byte"}) || w.store.Twice() > 0 {
		t.Errorf("told %q, %d twice", got, w.store.Twice())
	}
	w.whole(one.ID)
}

// R2: what could not be committed is tried again after a second, and not after a minute.
func TestACommitIsTriedAgainAfterASecond(t *testing.T) {
	w := newWatchedHome(t)
	w.watch(nil)
	w.begin()
	var refused []time.Time
	two := make(chan struct{})
	w.store.Refuse(func(filewatch.Seen) error {
		if refused = append(refused, time.Now()); len(refused) == 2 {
			close(two)
		}
		if len(refused) > 2 {
			return nil
		}
		return os.ErrClosed
	})
	w.put("a", "x")
	select {
	case <-two:
	case <-time.After(patience / 2):
		t.Fatal("it was not tried again")
	}
	w.tells("created a, 1 byte")
	w.end()
}

func TestOwnWritesDoNotWake(t *testing.T) {
	const hi = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4" // sha256 of "hi"
	for _, own := range []bool{false, true} {
		w := newWatchedHome(t)
		one := w.watch(func(o *filewatch.Watch) { o.Own = own })
		w.begin()
		w.own.Note(w.dir+"/a", hi)
		w.put("a", "hi")
		w.marker()
		if got := w.quiet(); len(got) > 0 != own {
			t.Errorf("own %v: told %q", own, got)
		}
		told := len(w.quiet())
		w.put("a", "of somebody else")
		w.until("foreign content", func() bool { return len(w.quiet()) == told+1 })
		w.put("a", "hi") // hob's old content, but somebody else brought it back
		w.until("old content", func() bool { return len(w.quiet()) == told+2 })
		w.own.Note(w.dir+"/a", "")
		must(t, os.Remove(w.dir+"/a"))
		w.marker()
		if got := w.quiet(); (len(got) > told+2) != own {
			t.Errorf("own %v: told %q", own, got)
		}
		w.whole(one.ID)
		w.end()
	}
}

func TestOnlyTheWantedKindsAreTold(t *testing.T) {
	for kind, want := range map[filewatch.Kind][]string{
		filewatch.Create: {"created c, 1 byte", "created d, 3 bytes"},
		filewatch.Write:  {"changed b, 2 bytes"},
		filewatch.Remove: {"removed a", "removed e"},
		filewatch.Rename: {"renamed d (was e), 3 bytes"},
	} {
		w := newWatchedHome(t)
		w.put("a", "x")
		w.put("b", "x")
		w.put("e", "eee")
		one := w.watch(func(o *filewatch.Watch) { o.Events = []filewatch.Kind{kind} })
		w.begin()
		must(t, os.Remove(w.dir+"/a"))
		w.put("b", "xx")
		w.put("c", "x")
		w.rename("e", "d")
		w.until("an event", func() bool { return len(w.store.Inbox()) > 0 })
		got := w.lines()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: told %q, want %q", kind, got, want)
		}
		w.whole(one.ID)
		w.end()
	}
}

// restless is a file that is touched whenever the watcher asks for the time of day, which it does between its look at a file and its
// reading of it: however slow the machine is, the file never rests.
type restless struct {
	path    string
	touched atomic.Int64
	rests   atomic.Bool
}

func (r *restless) clock() sys.Clock {
	return sys.ShiftedClock(func() time.Duration {
		if !r.rests.Load() {
			at := time.Unix(1_700_000_000, r.touched.Add(1))
			_ = os.Chtimes(r.path, at, at) // it may not be there yet
		}
		return 0
	})
}

func TestAFileThatNeverRestsIsToldAllTheSameAndThenAtItsEnd(t *testing.T) {
	for there, want := range map[bool]string{false: "created log, 1 byte, still changing", true: ""} {
		w := newWatchedHome(t)
		log := &restless{path: w.dir + "/log"}
		w.clock = log.clock()
		if there {
			w.put("log", "x")
		}
		one := w.watch(nil)
		w.begin()
		if !there {
			w.put("log", "x")
			w.tells(want)
		} else if f := w.store.File(one.ID, log.path); f.Hash != "changing" || f.Version != 1 {
			t.Errorf("after the first look its row is %+v", f)
		}
		log.rests.Store(true)
		w.put("log", "")
		w.until("its end", func() bool { l := w.lines(); return len(l) > 0 && l[len(l)-1] == "changed log, 0 bytes" })
		w.whole(one.ID)
		w.end()
	}
}
