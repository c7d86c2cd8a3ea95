package channels_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// carrierCh sends files of at most 100 bytes; the arrival's body describes the file.
type carrierCh struct{ plainCh }

func (carrierCh) MaxFile() int64 { return 100 }

func (c carrierCh) Send(ctx context.Context, d channels.Delivery) (string, error) {
	if d.File == nil {
		return c.plainCh.Send(ctx, d)
	}
	f, err := d.File.Open(ctx)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // in memory
	data, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	d.Body = fmt.Sprintf("<%s %s %d %s>%s", d.File.Name, d.File.MIME, d.File.Size, data, d.Body)
	return c.plainCh.Send(ctx, d)
}

// bytesOf returns an artifact's content.
type bytesOf struct{ *strings.Reader }

func (bytesOf) Close() error { return nil }

// openArtifact opens artifacts that contain their own names, except one that is gone.
func openArtifact(_ context.Context, id string) (io.ReadSeekCloser, error) {
	if id == "gone" {
		return nil, fmt.Errorf("artifact %s: %w", id, fs.ErrNotExist)
	}
	return bytesOf{strings.NewReader("of " + id)}, nil
}

func enclosed(name, artifact string, size int64) event.Enclosed {
	return event.Enclosed{Name: name, Artifact: artifact, MIME: "text/plain", Size: size, Path: "/home/sam/" + name}
}

func (r *pumpHarness) enclose(to event.Address, body string, files ...event.Enclosed) {
	n := len(r.outbox.Rows())
	r.outbox.Queue(event.Out{Key: fmt.Sprintf("k%d", n), Cause: event.Cause{Kind: event.ByTurn, ID: int64(n)}, To: to, Body: body, Files: files})
}

// Files follow the text, each once and in order; a missing file delays nothing, but is reported.
func TestPumpSendsFiles(t *testing.T) {
	story(t, []string{"ok", "plain", "ok", "later"}, func(t *testing.T, r *pumpHarness) {
		r.owner = append(r.owner, "carrier:me")
		r.enclose("carrier:me", "two files", enclosed("a.txt", "a1", 5), enclosed("b.txt", "b1", 5))
		r.enclose("carrier:me", "", enclosed("c.txt", "c1", 5))
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "two files", "<a.txt text/plain 5 of a1>", "<b.txt text/plain 5 of b1>", "<c.txt text/plain 5 of c1>")
		want(t, "states", r.states(), "done", "done")
		var nonces []string
		for _, p := range r.outbox.Rows()[0].Parts {
			nonces = append(nonces, p.Nonce)
		}
		if slices.Sort(nonces); len(slices.Compact(nonces)) != 3 {
			t.Errorf("nonces %q", nonces)
		}
	})
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.enclose("carrier:x", "gone", enclosed("a.txt", "gone", 5), enclosed("b.txt", "b1", 5))
		r.enclose("carrier:x", "next")
		r.live(t, time.Hour)
		want(t, "states", r.states(), "done", "done", "done")
		r.arrivedAt(t, "carrier:x", "gone", "a.txt could not be sent", "<b.txt text/plain 5 of b1>", "next")
		if notice := r.outbox.Rows()[2].Body; !strings.HasPrefix(notice, "A file to carrier:x is left out: a.txt could not be sent: ") || !strings.Contains(notice, "the file no longer exists") {
			t.Errorf("the owner is told %q", notice)
		}
	})
}

// C2: a permanently refused file fails alone: a text takes its place, with the reason for the owner. Later
// parts arrive.
func TestPumpLeavesOutARefusedFile(t *testing.T) {
	story(t, []string{"ok", "dead"}, func(t *testing.T, r *pumpHarness) {
		r.owner = append(r.owner, "carrier:me")
		r.enclose("carrier:me", "two files", enclosed("a.txt", "a1", 5), enclosed("b.txt", "b1", 5))
		r.enclose("carrier:me", "next")
		r.live(t, time.Minute)
		want(t, "arrived", r.bodies(), "two files", "a.txt could not be sent: no such chat", "<b.txt text/plain 5 of b1>", "next")
		want(t, "states", r.states(), "done", "done")
	})
	story(t, nil, func(t *testing.T, r *pumpHarness) { // it was the place that refused
		r.mouth.each = map[event.Address][]string{"carrier:x": {"ok", "dead", "dead"}}
		r.enclose("carrier:x", "a file", enclosed("a.txt", "a1", 5))
		r.enclose("carrier:x", "next")
		r.live(t, time.Minute)
		want(t, "states", r.states(), "dead", "done", "done", "done")
	})
	story(t, slices.Repeat([]string{"kept"}, 3), func(t *testing.T, r *pumpHarness) { // as one that is too large for the time that there is
		r.owner = append(r.owner, "carrier:me")
		r.enclose("carrier:me", "", enclosed("a.txt", "a1", 5))
		r.enclose("carrier:me", "next")
		r.live(t, time.Hour)
		got := r.bodies()
		if len(got) != 5 || !strings.HasPrefix(got[3], "a.txt was sent 3 times and may have arrived, but no answer came: connection lost") || got[4] != "next" {
			t.Errorf("arrived %q", got)
		}
	})
}

// An uncertain file is treated like a text: repeated to the owner with a mark as caption; for others it is
// held with a question.
func TestPumpUnsureFiles(t *testing.T) {
	story(t, []string{"ok", "kept"}, func(t *testing.T, r *pumpHarness) {
		r.owner = append(r.owner, "carrier:me")
		r.enclose("carrier:me", "text", enclosed("a.txt", "a1", 5))
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "text", "<a.txt text/plain 5 of a1>", "<a.txt text/plain 5 of a1>\n\n(may be a repeat)")
	})
	story(t, []string{"ok", "kept"}, func(t *testing.T, r *pumpHarness) {
		r.enclose("carrier:x", "text", enclosed("a.txt", "a1", 5))
		r.live(t, time.Hour)
		want(t, "states", r.states(), "held", "done")
		if asked := r.outbox.Asked(); len(asked) != 1 || len(r.bodies()) != 3 {
			t.Errorf("asked about %v, arrived %q", asked, r.bodies())
		}
	})
}

// A crash between the text and the file, and within the file, repeats only what may not have arrived.
func TestPumpCrashesBetweenTextAndFile(t *testing.T) {
	for script, arrived := range map[string][]string{
		"crash-after":     {"text", "text\n\n(may be a repeat)", "<a.txt text/plain 5 of a1>"},
		"ok crash-before": {"text", "<a.txt text/plain 5 of a1>\n\n(may be a repeat)"},
		"ok crash-after":  {"text", "<a.txt text/plain 5 of a1>", "<a.txt text/plain 5 of a1>\n\n(may be a repeat)"},
	} {
		story(t, strings.Fields(script), func(t *testing.T, r *pumpHarness) {
			r.owner = append(r.owner, "carrier:me")
			r.enclose("carrier:me", "text", enclosed("a.txt", "a1", 5))
			r.live(t, time.Hour)
			want(t, script, r.bodies(), arrived...)
			want(t, script+": states", r.states(), "done")
		})
	}
}

// A file that a channel cannot send is named in the text: with its path for the owner only.
func TestPumpNamesWhatItCannotSend(t *testing.T) {
	for _, tc := range []struct {
		to    event.Address
		owner bool
		body  string
		files []event.Enclosed
		want  []string
	}{
		{"plain:me", true, "look", []event.Enclosed{enclosed("a.txt", "a1", 5)}, []string{"look\n\n[file a.txt, 5 bytes, was not sent: plain carries no files; it is in /home/sam/a.txt]"}},
		{"plain:x", false, "look", []event.Enclosed{enclosed("a.txt", "a1", 2048)}, []string{"look\n\n[file a.txt, 2 KB, was not sent: plain carries no files]"}},
		{"carrier:me", true, "", []event.Enclosed{enclosed("a.txt", "a1", 101), enclosed("b.txt", "b1", 100)}, []string{
			"[file a.txt, 101 bytes, was not sent: carrier takes files of up to 100 bytes; it is in /home/sam/a.txt]", "<b.txt text/plain 100 of b1>",
		}},
	} {
		story(t, nil, func(t *testing.T, r *pumpHarness) {
			if tc.owner {
				r.owner = append(r.owner, tc.to)
			}
			r.enclose(tc.to, tc.body, tc.files...)
			r.live(t, time.Hour)
			want(t, string(tc.to), r.bodies(), tc.want...)
		})
	}
}

// Messages held back by quiet hours become one digest, but files stay with their own texts.
func TestPumpKeepsFilesWithTheirTexts(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.owner = append(r.owner, "carrier:me")
		end := time.Now().Add(time.Hour)
		r.outbox.SetQuietHours(func(event.Address, time.Time) time.Time { return end })
		for i := range 5 {
			if i == 2 {
				r.enclose("carrier:me", "the file", enclosed("a.txt", "a1", 5))
				continue
			}
			r.say("carrier:me", fmt.Sprintf("text %d", i))
		}
		r.live(t, 24*time.Hour)
		got := strings.Join(r.bodies(), "\n")
		if strings.Count(got, "the file") != 1 || strings.Count(got, "<a.txt text/plain 5 of a1>") != 1 || !strings.Contains(got, "text 4") {
			t.Errorf("arrived %q", r.bodies())
		}
		at := slices.IndexFunc(r.bodies(), func(b string) bool { return strings.HasPrefix(b, "the file") })
		if at < 0 || !strings.HasPrefix(r.bodies()[at+1], "<a.txt") {
			t.Errorf("the file does not follow its text: %q", r.bodies())
		}
	})
}

func TestBytes(t *testing.T) {
	for n, text := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KB", 1535: "1 KB", 1536: "2 KB", 1 << 20: "1 MB", 50 << 20: "50 MB", 1<<20 + 1<<19: "1.5 MB", 1<<20 - 1: "1024 KB",
	} {
		if got := channels.Bytes(n); got != text {
			t.Errorf("%d bytes are %q, want %q", n, got, text)
		}
	}
}
