package channels_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/event"
)

// attached returns a file with a content; size is the platform's claim.
func attached(name, mime string, size int64, open func() (io.Reader, error)) channels.Attachment {
	return channels.Attachment{Name: name, MIME: mime, Size: size, Open: func(context.Context) (io.ReadCloser, error) {
		r, err := open()
		return io.NopCloser(r), err
	}}
}

func holds(text string) func() (io.Reader, error) {
	return func() (io.Reader, error) { return strings.NewReader(text), nil }
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// received returns what an inbox stores after a channel named x, with the owner 7, has received a list.
func received(t *testing.T, prepare func(*channelstest.Inbox), list ...channels.Message) (in *channelstest.Inbox, err error) {
	t.Helper()
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, box *channelstest.Inbox) {
		in = box
		in.Rules.Owner = []string{"7"}
		prepare(in)
		h.Replace(map[string]channels.Section{"x": {Kind: "ear", Channel: &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			err = in.Receive(ctx, list, &channels.Cursor{Source: "x", Identity: "me", Value: "9"})
			return listen(ctx, n, in)
		}}}})
		synctest.Wait()
	})
	return in, err
}

func nothing(*channelstest.Inbox) {}

// Files are downloaded in order; one that fails or is too large is named, with the reason, and the message is
// stored.
func TestReceiveFetchesFiles(t *testing.T) {
	m := typed("look")
	m.Files = []channels.Attachment{
		attached("a.png", "image/png", 3, holds("\x89PNG\r\n\x1a\n")),
		attached("film", "video/mp4", channels.MaxFile+1, func() (io.Reader, error) { return nil, errors.New("it must not be opened") }),
		attached("liar", "text/plain", 1, func() (io.Reader, error) { return zeros{}, nil }),
		attached("gone", "text/plain", 1, func() (io.Reader, error) { return nil, errors.New("the platform has lost it") }),
		attached("b.txt", "text/plain", 0, holds("text")),
	}
	for i := range 7 {
		m.Files = append(m.Files, attached(fmt.Sprintf("more%d", i), "text/plain", 1, func() (io.Reader, error) {
			if i > 4 {
				t.Errorf("file %d is too many, and was opened", i)
			}
			return strings.NewReader("x"), nil
		}))
	}
	in, err := received(t, nothing, m)
	rows := in.Rows()
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	var parts []string
	for _, p := range rows[0].Parts {
		parts = append(parts, fmt.Sprintf("%s %s%s", p.Kind, p.Name, p.Text))
	}
	want(t, "parts", parts,
		"text look", "image a.png",
		"text [attachment film was not kept: it has more than 20 MB]", "text [attachment liar was not kept: it has more than 20 MB]", "text [attachment gone was not kept: the platform has lost it]",
		"file b.txt", "file more0", "file more1", "file more2", "file more3", "file more4",
		"text [attachment more5 was not kept: only 10 files of a message are kept]", "text [attachment more6 was not kept: only 10 files of a message are kept]")
	var kept []string
	for _, data := range in.Files() {
		kept = append(kept, string(data))
	}
	want(t, "kept", kept, "\x89PNG\r\n\x1a\n", "text", "x", "x", "x", "x", "x")
}

// A stranger's files are not downloaded.
func TestReceiveFetchesNothingForStrangers(t *testing.T) {
	m := typed("look")
	m.From.ID = "8"
	m.Files = []channels.Attachment{attached("a", "text/plain", 1, func() (io.Reader, error) {
		t.Error("a stranger's file was opened")
		return nil, io.EOF
	})}
	if in, err := received(t, nothing, m); err != nil || len(in.Rows()) > 0 {
		t.Errorf("%+v, %v", in.Rows(), err)
	}
}

// A store failure is an error, and the cursor does not move.
func TestReceiveAcknowledgesNothingThatIsNotStored(t *testing.T) {
	in, err := received(t, func(in *channelstest.Inbox) { in.FailNext(1) }, typed("hello"))
	if !errors.Is(err, channelstest.ErrFull) || len(in.Rows()) > 0 {
		t.Errorf("%+v, %v", in.Rows(), err)
	}
	if c, err := in.Cursor(t.Context(), "x", "me"); err != nil || c != "" {
		t.Errorf("cursor %q, %v", c, err)
	}
}

// Messages keep their order, even if one has files; the cursor is stored with the last.
func TestReceiveKeepsTheOrder(t *testing.T) {
	list := []channels.Message{typed("one"), typed("two"), typed("three")}
	for i := range list {
		list[i].ID = fmt.Sprint(i)
	}
	list[1].Files = []channels.Attachment{attached("a", "text/plain", 1, holds("x"))}
	in, err := received(t, nothing, list...)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range in.Rows() {
		texts = append(texts, r.Text())
	}
	want(t, "texts", texts, "one", "two", "three")
	if c, err := in.Cursor(t.Context(), "x", "me"); err != nil || c != "9" {
		t.Errorf("cursor %q, %v", c, err)
	}
}

// Deletions by any sender are processed in order: the messages before a deletion are stored first, the cursor
// last.
func TestReceiveTakesBack(t *testing.T) {
	list := []channels.Message{typed("one"), typed("two"), typed("three"), typed(""), typed("")}
	for i := range list {
		list[i].ID = fmt.Sprint(i)
	}
	list[3].Deletes = "1"
	list[4].Deletes, list[4].From.ID = "2", "somebody else"
	in, err := received(t, nothing, list...)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range in.Rows() {
		texts = append(texts, r.Text())
	}
	want(t, "texts", texts, "one", "three")
	if c, err := in.Cursor(t.Context(), "x", "me"); err != nil || c != "9" {
		t.Errorf("cursor %q, %v", c, err)
	}
}

// A message that is written, edited and deleted within one list is not stored, and its files are not
// downloaded. Other people's deletions have no effect.
func TestReceivePassesOverWhatIsGone(t *testing.T) {
	file := typed("look")
	file.Files = []channels.Attachment{attached("a", "text/plain", 1, func() (io.Reader, error) {
		t.Error("a file that is gone was opened")
		return nil, io.EOF
	})}
	list := []channels.Message{typed("one"), typed("two"), typed("two, changed"), file, typed(""), typed(""), typed(""), typed("three")}
	for i := range list {
		list[i].ID = fmt.Sprint(i)
	}
	list[2].Edits = "1"
	list[4].Deletes, list[5].Deletes, list[6].Deletes = "1", "3", "0"
	list[6].From.ID = "somebody else"
	in, err := received(t, nothing, list...)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range in.Rows() {
		texts = append(texts, r.Text())
	}
	want(t, "texts", texts, "one", "three")
}

// A channel can store only its own inputs, and a gap is reported.
func TestAChannelStoresOnlyItsOwnInputs(t *testing.T) {
	hosting(t, func(t *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, box *channelstest.Inbox) {
		var foreign, gap error
		h.Replace(map[string]channels.Section{"x": {Kind: "ear", Channel: &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
			_, foreign = in.Accept(ctx, []event.In{{Source: "y", ExtID: "1"}}, nil)
			gap = in.Gap(ctx, start, start.Add(time.Hour), "the server forgot them")
			return listen(ctx, n, in)
		}}}})
		synctest.Wait()
		if foreign == nil || len(box.Rows()) > 0 {
			t.Errorf("another channel's input was taken: %v", box.Rows())
		}
		if gap != nil {
			t.Error(gap)
		}
		want(t, "gaps", box.Gaps(), "x 09:00:00-10:00:00: the server forgot them")
	})
}
