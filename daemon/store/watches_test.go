package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/filewatch"
)

func (s *testStore) watches() store.Watches { return s.Watches }

func (s *testStore) watch(name string) filewatch.Watch {
	s.t.Helper()
	w := filewatch.Watch{
		Trigger: scheduler.Trigger{Name: name, Prompt: "look", Deliver: "chat:1", Trust: event.Machine, Origin: "run-time"},
		Paths:   []string{"/srv/" + name}, Events: []filewatch.Kind{filewatch.Create}, Settle: 2 * time.Second,
	}
	if err := s.Calls.Record(context.Background(), filewatch.Put{Watch: w}); err != nil {
		s.t.Fatal(err)
	}
	w, err := s.Watches.WatchNamed(context.Background(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// saw is a look of a watch at one file in its version.
func saw(w filewatch.Watch, version int64) filewatch.Seen {
	key := fmt.Sprint("v", version)
	return filewatch.Seen{
		Watch: w, Key: key,
		Files: []filewatch.File{{Path: w.Paths[0] + "/a", Ino: 1<<64 - 1, Size: version, Mtime: version, Hash: key, Version: version, Text: []byte("text of " + key)}},
		In: &event.In{
			Source: "watch:" + w.Name, ExtID: fmt.Sprintf("%d:%s", w.ID, key), Session: w.SessionKey(), Kind: event.Fire, Rank: event.RankRest, Trust: w.Trust, Tainted: true,
			Sender: w.Name, ReplyTo: w.Deliver, Parts: append(event.Say(w.Prompt), event.Say("changed "+key)...),
		},
	}
}

func (s *testStore) see(seen filewatch.Seen) {
	s.t.Helper()
	if err := s.watches().Saw(context.Background(), seen); err != nil {
		s.t.Fatal(err)
	}
}

// snapshot returns the rows of a watch's snapshot as "path@version".
func (s *testStore) snapshot(w filewatch.Watch) (list []string) {
	s.t.Helper()
	files, err := s.watches().Snapshot(context.Background(), w.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		list = append(list, fmt.Sprintf("%s@%d", f.Path, f.Version))
	}
	return list
}

func (s *testStore) waiting() (n int) { return one[int](s, "SELECT count(*) FROM inbox") }

// What a watch sees is one commit, and the same is told once.
func TestSaw(t *testing.T) {
	s := fresh(t)
	w := s.watch("w")
	first := saw(w, 1)
	first.In, first.Key = nil, ""
	s.see(first)
	if got := s.snapshot(w); !slices.Equal(got, []string{"/srv/w/a@1"}) || s.waiting() != 0 || len(s.fires()) != 0 {
		t.Errorf("a first look: %v, %d inputs, fires %v", got, s.waiting(), s.fires())
	}
	for range 2 {
		s.see(saw(w, 2))
		if got := s.snapshot(w); !slices.Equal(got, []string{"/srv/w/a@2"}) || s.waiting() != 1 || !slices.Equal(s.fires(), []string{"queued"}) {
			t.Errorf("a change: %v, %d inputs, fires %v", got, s.waiting(), s.fires())
		}
	}
	files, err := s.watches().Snapshot(t.Context(), w.ID)
	if want := (filewatch.File{Path: "/srv/w/a", Ino: 1<<64 - 1, Size: 2, Mtime: 2, Hash: "v2", Version: 2}); err != nil || fmt.Sprint(files[0]) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v, %v", files, want, err)
	}
	// The text stays while the content does, and goes with it.
	for _, c := range []struct {
		hash string
		want string
	}{{"v2", "text of v2"}, {"v3", ""}} {
		touched := saw(w, 3)
		touched.In, touched.Files[0].Hash, touched.Files[0].Text = nil, c.hash, nil
		s.see(touched)
		if text, err := s.watches().Text(t.Context(), w.ID, "/srv/w/a"); err != nil || string(text) != c.want {
			t.Errorf("%s: text %q, %v", c.hash, text, err)
		}
	}
	if text, err := s.watches().Text(t.Context(), w.ID, "/nowhere"); err != nil || text != nil {
		t.Errorf("of what is not there: %q, %v", text, err)
	}
	// The row of a file that is gone goes, with its text, and the mark stays.
	gone := saw(w, 3)
	gone.In = nil
	gone.Files[0].Gone = true
	gone.Files = append(gone.Files, filewatch.File{Path: ".", Dir: true, Version: 4})
	s.see(gone)
	if got := s.snapshot(w); !slices.Equal(got, []string{".@4"}) || one[int](s, "SELECT count(*) FROM snapshots WHERE text IS NOT NULL") != 0 {
		t.Errorf("of a file that is gone: %v", got)
	}
	// Nothing of a look is committed when a part of it cannot be.
	bad := saw(w, 4)
	bad.Files = append(bad.Files, filewatch.File{Path: "/srv/w/b", Version: 0})
	if err := s.watches().Saw(t.Context(), bad); err == nil || s.waiting() != 1 || len(s.fires()) != 1 || len(s.snapshot(w)) != 1 {
		t.Errorf("half a look was committed: %v, %d inputs, %v", err, s.waiting(), s.snapshot(w))
	}
}

// The run of a watch is a turn like any other, and how it ended is its fire's.
func TestWatchRuns(t *testing.T) {
	s := fresh(t)
	w := s.watch("w")
	s.see(saw(w, 1))
	id := s.take()
	if id == 0 {
		t.Fatal("nothing to take")
	}
	end := func(id int64, state turn.Status, why string) {
		t.Helper()
		if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, End: &turn.Finish{State: state, Why: why}}); err != nil {
			t.Fatal(err)
		}
	}
	end(id, turn.Done, "")
	if got := s.fires(); !slices.Equal(got, []string{"done ran"}) {
		t.Errorf("fires %q", got)
	}
	// After a failure it waits a minute, and what it sees meanwhile is told together.
	s.see(saw(w, 2))
	end(s.take(), turn.Failed, "it broke")
	s.see(saw(w, 3))
	s.see(saw(w, 4))
	if s.take() != 0 {
		t.Error("it runs at once after a failure")
	}
	s.later(61 * time.Second)
	held := s.take()
	text := one[string](s, "SELECT parts FROM inbox WHERE turn = ?", held)
	if !strings.Contains(text, "changed v3") || !strings.Contains(text, "changed v4") || strings.Count(text, "look") != 1 {
		t.Errorf("held: %s", text)
	}
	got := s.fires()
	reason := strings.HasPrefix(got[2], "running  held for ")
	if got[2] = "running"; !reason || !slices.Equal(got, []string{"done ran", "done failed it broke", "running", "done coalesced told with #3"}) {
		t.Errorf("fires %q", got)
	}
	// After the fifth failure in a row the owner is asked, and his no stops it.
	for n := int64(5); ; n++ {
		end(held, turn.Failed, "it broke")
		if one[int](s, "SELECT count(*) FROM questions") > 0 {
			break
		}
		s.later(2 * time.Hour)
		s.see(saw(w, n))
		held = s.take()
	}
	if q := one[string](s, "SELECT text FROM questions"); !strings.HasPrefix(q, "Watch w has failed 5 times in a row") {
		t.Error(q)
	}
	code := one[string](s, "SELECT code FROM questions")
	if _, err := s.Commands.AnswerFrom(t.Context(), event.In{Source: "api", ExtID: "x", Session: "main", Kind: event.Answer, Trust: event.Owner, Typed: true}, code, turn.AnswerNo); err != nil {
		t.Fatal(err)
	}
	if w, err := s.Watches.WatchNamed(t.Context(), "w"); err != nil || !w.Paused {
		t.Errorf("it goes on: %+v, %v", w, err)
	}
}

// A watch that was removed or paused while it looked tells nothing.
func TestSawTooLate(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	w, other := s.watch("w"), s.watch("other")
	s.see(saw(w, 1))
	s.see(saw(other, 1))
	live := func() (names []string) {
		list, err := s.watches().Watches(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			names = append(names, w.Name)
		}
		return names
	}
	late := func(version int64) {
		if err := s.watches().Saw(ctx, saw(w, version)); !errors.Is(err, filewatch.ErrStopped) {
			t.Errorf("what is seen too late: %v", err)
		}
	}
	if err := s.Calls.Record(ctx, filewatch.Pause{ID: w.ID, Paused: true}); err != nil {
		t.Fatal(err)
	}
	late(2)
	if got := live(); !slices.Equal(got, []string{"other"}) || s.waiting() != 2 || s.snapshot(w)[0] != "/srv/w/a@1" {
		t.Errorf("paused: %v, %d inputs, %v", got, s.waiting(), s.snapshot(w))
	}
	if err := s.Calls.Record(ctx, filewatch.Pause{ID: w.ID}); err != nil {
		t.Fatal(err)
	}
	s.see(saw(w, 2))
	if got := live(); !slices.Equal(got, []string{"w", "other"}) || s.waiting() != 3 {
		t.Errorf("it does not go on: %v, %d inputs", got, s.waiting())
	}
	if err := s.Calls.Record(ctx, filewatch.Drop{ID: w.ID}); err != nil {
		t.Fatal(err)
	}
	late(3)
	if got := live(); !slices.Equal(got, []string{"other"}) || s.waiting() != 3 || len(s.snapshot(w)) != 0 || len(s.snapshot(other)) != 1 {
		t.Errorf("removed: %v, %d inputs, %v", got, s.waiting(), s.snapshot(w))
	}
	for _, late := range []any{filewatch.Drop{ID: w.ID}, filewatch.Pause{ID: w.ID, Paused: true}, filewatch.Drop{ID: s.job("j").ID}} {
		if f, ok := event.AsFault(s.Calls.Record(ctx, late)); !ok || f.Kind != event.Clash {
			t.Errorf("%#v of a watch that is none", late)
		}
	}
	again := s.watch("w") // its name is free again, and its versions begin anew
	s.see(saw(again, 1))
	if s.waiting() != 4 {
		t.Errorf("the new watch of an old name is taken for the old one: %d inputs", s.waiting())
	}
	if err := s.Calls.Record(ctx, filewatch.Put{Watch: filewatch.Watch{Trigger: scheduler.Trigger{Name: "w"}}}); err == nil {
		t.Error("two watches have one name")
	}
}

// A watch that changes what it watches does not run for ever: after thirty fires in ten minutes the rest is told together at their end.
func TestBusyWatch(t *testing.T) {
	s := fresh(t)
	w := s.watch("w")
	takes := func() (n int) {
		for id := s.take(); id != 0; id = s.take() {
			n++
			if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, End: &turn.Finish{State: turn.Done}}); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	for v := range int64(30) {
		s.see(saw(w, v+1))
		s.later(time.Second)
	}
	if got := takes(); got != 30 || len(s.outs()) != 0 {
		t.Errorf("%d of the first 30 ran, and the owner was told %d things", got, len(s.outs()))
	}
	for v := range int64(100) {
		s.see(saw(w, v+31))
	}
	if outs := s.outs(); takes() != 0 || s.waiting() != 31 || len(outs) != 1 || !strings.HasPrefix(outs[0].Body, "Watch w has fired 30 times within 10 minutes") {
		t.Errorf("%d inputs, told %+v", s.waiting(), outs)
	}
	until, first := one[int64](s, "SELECT max(not_before) FROM inbox"), one[int64](s, "SELECT min(created) FROM fires")
	if held := time.Duration(until-first) * time.Microsecond; held != 10*time.Minute {
		t.Errorf("held for %s after the first fire", held)
	}
	heldUntil := func() time.Time {
		progress, err := s.Watches.Progress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return progress[w.ID].Held
	}
	if got := heldUntil(); got.UnixMicro() != until {
		t.Errorf("it is shown as held until %s", got)
	}
	s.later(time.UnixMicro(until).Sub(s.now()) + time.Second)
	if got := heldUntil(); !got.IsZero() {
		t.Errorf("after the ten minutes it is shown as held until %s", got)
	}
	s.sql("UPDATE triggers SET hold = ?", until+int64(time.Hour/time.Microsecond)) // after failures
	if got := heldUntil(); got.UnixMicro() != until+int64(time.Hour/time.Microsecond) {
		t.Errorf("after failures it is shown as held until %s", got)
	}
	s.sql("UPDATE triggers SET hold = 0")
	if got := takes(); got != 1 {
		t.Errorf("%d ran at the end of the ten minutes", got)
	}
	text := one[string](s, "SELECT parts FROM inbox ORDER BY seq DESC LIMIT 1")
	for _, part := range []string{"changed v31\"", "changed v32\"", "changed v130\""} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is lost", part)
		}
	}
	if got := s.snapshot(w); got[0] != "/srv/w/a@130" {
		t.Errorf("%v", got)
	}
	s.later(10 * time.Minute)
	s.see(saw(w, 131))
	if got := takes(); got != 1 || len(s.outs()) != 1 {
		t.Errorf("after a calm time %d ran, told %d things", got, len(s.outs()))
	}
}

// What a watch saw by a clock that was far ahead holds up nothing when the clock is right again.
func TestBusyByAWrongClock(t *testing.T) {
	s := fresh(t)
	w := s.watch("w")
	s.later(183 * 24 * time.Hour)
	for v := range int64(30) {
		s.see(saw(w, v+1))
	}
	s.later(-183 * 24 * time.Hour)
	s.see(saw(w, 31))
	if n := one[int](s, "SELECT count(*) FROM inbox WHERE not_before = 0"); n != 31 || len(s.outs()) != 0 {
		t.Errorf("%d of 31 may run now, and the owner was told %+v", n, s.outs())
	}
}

// What is held has room for so much; the rest is only said to be there.
func TestHeldHasBounds(t *testing.T) {
	s := fresh(t)
	w := s.watch("w")
	for v := range int64(40) {
		seen := saw(w, v+1)
		seen.In.Parts[1].Text = strings.Repeat("x", 20<<10)
		s.see(seen)
	}
	if n := one[int](s, "SELECT max(length(parts)) FROM inbox"); n > 49<<10 || n < 40<<10 {
		t.Errorf("held are %d bytes", n)
	}
	text := one[string](s, "SELECT parts FROM inbox ORDER BY seq DESC LIMIT 1")
	if strings.Count(text, "More has changed since than is listed here") != 1 {
		t.Error("it is not said once that there is more")
	}
}

func TestTrouble(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	w := s.watch("w")
	say := func(text string) {
		if err := s.watches().Trouble(ctx, w.ID, text); err != nil {
			t.Fatal(err)
		}
	}
	look := func() filewatch.Progress {
		progress, err := s.Watches.Progress(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return progress[w.ID]
	}
	say("too many folders")
	say("too many folders")
	if outs := s.outs(); len(outs) != 1 || outs[0].Body != "Watch w: too many folders" || look() != (filewatch.Progress{Trouble: "too many folders"}) {
		t.Errorf("told %+v, shown %+v", outs, look())
	}
	say("")
	if len(s.outs()) != 1 || look() != (filewatch.Progress{}) {
		t.Errorf("shown %+v", look())
	}
	say(filewatch.NotFollowed + "x") // a link out of the roots is shown, and no notice is sent (inputs.md, 13.1)
	if len(s.outs()) != 1 || look() != (filewatch.Progress{Trouble: filewatch.NotFollowed + "x"}) {
		t.Errorf("told %d things, shown %+v", len(s.outs()), look())
	}
	say("something else")
	s.later(24 * time.Hour)
	say("too many folders")
	if len(s.outs()) != 3 {
		t.Errorf("told %d things, want another one, and the first again a day later", len(s.outs()))
	}
	done := saw(w, 1)
	done.In, done.Files = nil, []filewatch.File{{Path: ".", Dir: true, Version: 1}}
	s.see(done)
	if !look().Ready {
		t.Error("its first look is done, and nobody can know")
	}
	if err := s.Calls.Record(ctx, filewatch.Drop{ID: w.ID}); err != nil {
		t.Fatal(err)
	}
	say("gone") // nobody is told of a watch that is gone
	if len(s.outs()) != 3 {
		t.Error("told of a watch that is gone")
	}
}

// A row that cannot be read disables only itself.
func TestSpoiltWatch(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	s.watch("good")
	bad := s.watch("bad")
	s.sql("UPDATE triggers SET body = '{\"paths\": 7}' WHERE id = ?", bad.ID)
	list, err := s.watches().Watches(ctx)
	if err != nil || len(list) != 1 || list[0].Name != "good" {
		t.Errorf("%+v, %v", list, err)
	}
	all, err := s.Watches.AllWatches(ctx)
	if err != nil || len(all) != 2 || !strings.Contains(all[0].Broken, "cannot be read") || all[0].Name != "bad" || all[1].Broken != "" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := s.Watches.WatchNamed(ctx, fmt.Sprint(bad.ID)); err != nil {
		t.Error(err)
	}
	_, err = s.Watches.WatchNamed(ctx, "nothing")
	if f, ok := event.AsFault(err); !ok || f.Kind != event.Missing {
		t.Errorf("%v", err)
	}
}

// BenchmarkSnapshot puts the snapshot of 100,000 files as a first look does, and loads it.
func BenchmarkSnapshot(b *testing.B) {
	st, err := store.Open(b.Context(), store.Options{
		Dir: b.TempDir(), Version: "test", Clock: sys.RealClock(), IDs: sys.RandomIDs(), Zone: func() string { return "UTC" },
		Owner: func() []event.Address { return nil }, Config: func() store.Config { return store.Config{MaxAttempts: 3} },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = st.Close(context.Background()) }()
	if err := st.Calls.Record(b.Context(), filewatch.Put{Watch: filewatch.Watch{Trigger: scheduler.Trigger{Name: "w"}}}); err != nil {
		b.Fatal(err)
	}
	w, err := st.Watches.WatchNamed(b.Context(), "w")
	if err != nil {
		b.Fatal(err)
	}
	const all = 100_000
	files := make([]filewatch.File, all)
	for i := range files {
		files[i] = filewatch.File{Path: fmt.Sprintf("/srv/tree/%03d/%03d/file-%06d.txt", i/1000, i/100%10, i), Ino: uint64(i), Size: 4000, Mtime: 1_700_000_000_000_000_000, Hash: strings.Repeat("ab", 32), Version: 1}
	}
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			for part := range slices.Chunk(files, 2000) {
				if err := st.Watches.Saw(b.Context(), filewatch.Seen{Watch: w, Files: part}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if got, err := st.Watches.Snapshot(b.Context(), w.ID); err != nil || len(got) != all {
				b.Fatalf("%d files, %v", len(got), err)
			}
		}
	})
	b.Run("anchor: the same as JSON", func(b *testing.B) {
		raw, err := json.Marshal(files)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			var got []filewatch.File
			if err := json.Unmarshal(raw, &got); err != nil || len(got) != all {
				b.Fatalf("%d files, %v", len(got), err)
			}
		}
	})
}
