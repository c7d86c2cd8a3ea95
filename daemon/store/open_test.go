package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(max(code, checkPlans())) }))
}

const chat event.Address = "chat:1"

// testStore is a store under test, with a clock that can be moved.
type testStore struct {
	*store.Store
	*store.View
	t      *testing.T
	dir    string
	ahead  *atomic.Int64 // of the machine's clock
	policy store.Config
	zone   string
	owner  []event.Address
	ext    int
}

func open(t *testing.T, dir string, change ...func(*testStore)) *testStore {
	t.Helper()
	s := &testStore{t: t, dir: dir, ahead: &atomic.Int64{}, policy: store.Config{MaxAttempts: 3, PerDayMicros: -1, PerDayTokens: 1_000_000}, zone: "Europe/Berlin", owner: []event.Address{chat}}
	for _, f := range change {
		f(s)
	}
	s.Store = storetest.Open(t, dir, func(o *store.Options) {
		o.Clock, o.Zone = clockOf(s), func() string { return s.zone }
		o.Owner, o.Config = func() []event.Address { return s.owner }, func() store.Config { return s.policy }
	})
	s.View = store.NewView(s.Reader(), clockOf(s).Wall)
	t.Cleanup(func() { storetest.Close(t, s.Store) })
	return s
}

func fresh(t *testing.T, change ...func(*testStore)) *testStore {
	t.Helper()
	return open(t, t.TempDir(), change...)
}

// crash opens a copy of what is durable, as if the process had been killed at this moment.
func (s *testStore) crash(change ...func(*testStore)) *testStore {
	s.t.Helper()
	dir := s.t.TempDir()
	for _, name := range []string{"hob.db", "hob.db-wal"} {
		data, err := os.ReadFile(filepath.Join(s.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return open(s.t, dir, append([]func(*testStore){func(n *testStore) {
		n.ahead, n.policy, n.zone, n.owner, n.ext = s.ahead, s.policy, s.zone, s.owner, s.ext
	}}, change...)...)
}

func (s *testStore) later(d time.Duration) { s.ahead.Add(int64(d)) }

func (s *testStore) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func (s *testStore) try(query string, args ...any) error {
	return s.Write(context.Background(), func(tx *store.Tx) error { return tx.Run(query, args...) })
}

func (s *testStore) sql(query string, args ...any) {
	s.t.Helper()
	if err := s.try(query, args...); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}

// one reads a single number or text.
func one[T any](s *testStore, query string, args ...any) T {
	s.t.Helper()
	var v T
	if err := s.Reader().QueryRowContext(context.Background(), query, args...).Scan(&v); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return v
}

func message(text string) event.In {
	return event.In{Source: "chat", Session: "main", Kind: event.Message, Rank: event.RankOwner, Trust: event.Owner, ReplyTo: chat, Typed: true, Parts: event.Say(text)}
}

func (s *testStore) accept(in event.In) int64 {
	s.t.Helper()
	s.ext++
	if in.ExtID == "" {
		in.ExtID = fmt.Sprint("m", s.ext)
	}
	r, err := s.Inbox.Accept(context.Background(), []event.In{in}, nil)
	if err != nil {
		s.t.Fatalf("accept: %v", err)
	}
	return r[0].Inbox
}

// take claims the next turn; 0: there is none.
func (s *testStore) take() int64 {
	s.t.Helper()
	c, _, err := s.Turns.Take(context.Background(), []string{"/new"}, nil)
	if err != nil {
		s.t.Fatalf("take: %v", err)
	}
	return c.Turn
}

func (s *testStore) outs() []api.OutboxRow {
	s.t.Helper()
	list, err := s.OutboxRows(context.Background(), event.Filter{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func clockOf(s *testStore) sys.Clock {
	return sys.ShiftedClock(func() time.Duration { return time.Duration(s.ahead.Load()) })
}
