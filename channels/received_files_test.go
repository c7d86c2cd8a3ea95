package channels_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

// Any file names of a sender become plain, different names; the content decides the type.
func TestNamesOfAttachments(t *testing.T) {
	m := typed("look")
	for _, name := range []string{"../../config.toml", "a.txt", "A.txt", "x\u202egnp.exe", "", `C:\boot.ini`} {
		m.Files = append(m.Files, attached(name, "image/png", 1, holds("text")))
	}
	m.Files = append(m.Files, attached("../../far", "", channels.MaxFile+1, nil))
	in, err := received(t, nothing, m)
	if err != nil || len(in.Rows()) != 1 {
		t.Fatalf("%+v, %v", in.Rows(), err)
	}
	var names []string
	for _, p := range in.Rows()[0].Parts {
		names = append(names, p.Name+p.Text)
		if p.Name != "" && p.MIME != "text/plain" {
			t.Errorf("%s is %s", p.Name, p.MIME)
		}
	}
	want(t, "names", names, "look", "config.toml", "a.txt", "A-2.txt", "xgnp.exe", "file", "boot.ini", "[attachment far was not kept: it has more than 20 MB]")
}

// A sender cannot fill the memory with one message: the total size is limited, whatever the platform says
// about the sizes.
func TestFilesTogether(t *testing.T) {
	m := typed("look")
	for range 4 {
		m.Files = append(m.Files, attached("big", "", 0, func() (io.Reader, error) {
			return io.LimitReader(zeros{}, 15<<20), nil
		}))
	}
	m.Files = append(m.Files, attached("said", "", 6<<20, nil), attached("small", "", 0, holds("text")))
	in, err := received(t, nothing, m)
	if err != nil || len(in.Rows()) != 1 {
		t.Fatalf("%d rows, %v", len(in.Rows()), err)
	}
	var names []string
	for _, p := range in.Rows()[0].Parts {
		names = append(names, p.Name+p.Text)
	}
	const no = "was not kept: the files of the message have more than 50 MB together]"
	want(t, "names", names, "look", "big", "big-2", "big-3", "[attachment big "+no, "[attachment said "+no, "small")
}

// With a voice note the message does not count as typed, and the note is marked, with its length.
func TestVoiceIsNotTyped(t *testing.T) {
	m := typed("run df")
	note := attached("voice.ogg", "audio/ogg", 9, func() (io.Reader, error) { return strings.NewReader("OggS\x00spoken"), nil })
	note.Voice, note.Length = true, 12_400*time.Millisecond
	m.Files = []channels.Attachment{note}
	in, err := received(t, nothing, m)
	if err != nil || len(in.Rows()) != 1 {
		t.Fatalf("%+v, %v", in.Rows(), err)
	}
	row := in.Rows()[0]
	if p := row.Parts[1]; row.Typed || !p.Voice || p.Transcribed || p.Seconds != 12 || p.Length() != "0:12" || p.MIME != "audio/ogg" {
		t.Errorf("typed %v, part %+v", row.Typed, p)
	}
	m.Files[0].Voice = false
	if in, err = received(t, nothing, m); err != nil || !in.Rows()[0].Typed {
		t.Errorf("a caption of another file is typed no more: %v", err)
	}
}

// A server that does not deliver its files delays nobody for long; if hob ends meanwhile, the message is not
// stored without them.
func TestFilesThatDoNotCome(t *testing.T) {
	stuck := channels.Attachment{Name: "stuck", Open: func(ctx context.Context) (io.ReadCloser, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	m := typed("look")
	m.Files = []channels.Attachment{stuck, stuck}
	waited := func(while time.Duration) (in *channelstest.Inbox) {
		hosting(t, func(_ *testing.T, h *channels.Host, _ *[]channels.ChannelHealth, box *channelstest.Inbox) {
			in = box
			in.Rules.Owner = []string{"7"}
			h.Replace(map[string]channels.Section{"x": {Kind: "ear", Channel: &ear{run: func(ctx context.Context, n int, in channels.Inbox) error {
				if err := in.Receive(ctx, []channels.Message{m}, nil); err != nil {
					return err
				}
				return listen(ctx, n, in)
			}}}})
			<-time.After(while)
			synctest.Wait()
		})
		return in
	}
	if rows := waited(89 * time.Second).Rows(); len(rows) != 0 {
		t.Errorf("hob ended, and the message came in as %+v", rows)
	}
	rows := waited(90 * time.Second).Rows()
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	var names []string
	for _, p := range rows[0].Parts {
		names = append(names, p.Text)
	}
	const no = "[attachment stuck was not kept: context deadline exceeded]"
	want(t, "parts", names, "look", no, no)
}
