package poll_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/poll"
	"hob/daemon/sys"
)

type position struct {
	At    string `json:"at"`
	Heard int64  `json:"heard"`
}

// inbox records what it was given; it refuses the list with the number refuse.
type inbox struct {
	channels.Inbox
	stored string
	lists  []int // how many messages each list had
	gaps   []string
	refuse int
}

var errRefused = errors.New("no room")

func (b *inbox) Cursor(context.Context, string, string) (string, error) { return b.stored, nil }

func (b *inbox) Gap(_ context.Context, _, _ time.Time, why string) error {
	b.gaps = append(b.gaps, why)
	return nil
}

func (b *inbox) Receive(_ context.Context, list []channels.Message, c *channels.Cursor) error {
	if b.lists = append(b.lists, len(list)); len(b.lists) == b.refuse {
		return errRefused
	}
	if c != nil {
		b.stored = c.Source + " " + c.Identity + " " + c.Value
	}
	return nil
}

func open(t *testing.T, b *inbox) *poll.Source[position] {
	t.Helper()
	who := poll.Account{Channel: "x", Identity: "me", Log: slog.New(slog.DiscardHandler)}
	s, err := poll.Open(t.Context(), b, who, func(p position) time.Time { return time.Unix(p.Heard, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpen(t *testing.T) {
	for _, tc := range []struct {
		stored  string
		want    position
		resumed bool
	}{
		{"", position{}, false},
		{`{"at":"7","heard":60}`, position{"7", 60}, true},
		{`{"at":"7","heard":"x"}`, position{}, false}, // nothing of what cannot be read counts
		{"seven", position{}, false},
	} {
		if s := open(t, &inbox{stored: tc.stored}); s.Pos != tc.want || s.Resumed != tc.resumed {
			t.Errorf("%q: %+v, %t", tc.stored, s.Pos, s.Resumed)
		}
	}
}

func TestCommit(t *testing.T) {
	b := &inbox{}
	s := open(t, b)
	if err := s.Commit(t.Context(), make([]channels.Message, 1200), position{"8", 60}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.lists, []int{500, 500, 200}) || b.stored != `x me {"at":"8","heard":60}` || s.Pos.At != "8" {
		t.Errorf("lists %v, stored %q, at %+v", b.lists, b.stored, s.Pos)
	}
	for _, refuse := range []int{4, 6} { // a piece, and the rest with the cursor
		b.refuse = refuse
		if err := s.Commit(t.Context(), make([]channels.Message, 600), position{"9", 120}); !errors.Is(err, errRefused) || s.Pos.At != "8" || b.stored != `x me {"at":"8","heard":60}` {
			t.Errorf("refused %d: %v, stored %q, at %+v", refuse, err, b.stored, s.Pos)
		}
	}
}

func TestDue(t *testing.T) {
	s := open(t, &inbox{stored: `{"heard":1000}`})
	for heard, want := range map[int64]bool{1000: false, 1059: false, 1060: true, 999: true} {
		if got := s.Due(time.Unix(heard, 0)); got != want {
			t.Errorf("heard at %d: due %t", heard, got)
		}
	}
	if err := s.Commit(t.Context(), nil, position{Heard: 2000}); err != nil || s.Due(time.Unix(2059, 0)) || !s.Due(time.Unix(2060, 0)) {
		t.Errorf("after a commit at 2000: %v", err)
	}
}

func TestGap(t *testing.T) {
	b := &inbox{}
	if err := open(t, b).Gap(t.Context(), time.Time{}, time.Time{}, "away"); err != nil || !slices.Equal(b.gaps, []string{"away"}) {
		t.Errorf("%v, %v", b.gaps, err)
	}
}

// A requested end is not an error, whatever the receiver returned; other errors are explained.
func TestRun(t *testing.T) {
	cut := errors.New("cut")
	explain := func(err error) error { return errors.Join(err, errRefused) }
	fails := func(context.Context) error { return cut }
	if err := poll.Run(t.Context(), nil, fails, explain); !errors.Is(err, cut) || !errors.Is(err, errRefused) {
		t.Errorf("explained as %v", err)
	}
	if err := poll.Run(t.Context(), nil, fails, nil); !errors.Is(err, cut) {
		t.Errorf("became %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := poll.Run(ended, nil, fails, explain); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// A server that answers at once without news is asked once a second; with news it is asked again at once.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut, n := errors.New("cut"), 0
		began := time.Now()
		err := poll.Rounds(t.Context(), sys.RealClock(), func(context.Context) (bool, error) {
			if n++; n > 6 {
				return false, cut
			}
			if n == 6 {
				time.Sleep(2 * time.Second) // the server has waited
			}
			return n <= 3, nil
		})
		if took := time.Since(began); !errors.Is(err, cut) || took != 4*time.Second {
			t.Errorf("%v after %s", err, strconv.Itoa(int(took/time.Second)))
		}
	})
}
