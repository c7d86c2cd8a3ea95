package daemon_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	chanall "hob/channels/all"
	"hob/channels/channelstest"
	"hob/daemon"
	"hob/daemon/event"
	"hob/daemon/record"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

type obj = map[string]any

// platform is a server of a kind, for one person.
type platform struct {
	config    obj
	secrets   map[string]string
	owner     string
	transport http.RoundTripper
	listening func(context.Context)
	say       func() // three messages: a text, a file, and something of the kind's own
	sends     string // in the address of the request that sends an answer; "": as say
}

// platforms are those whose channels can be recorded.
func platforms() map[string]func(*testing.T) platform {
	return map[string]func(*testing.T) platform{
		"telegram": telegramPlatform, "matrix": matrixPlatform, "ntfy": ntfyPlatform, "signal": signalPlatform, "slack": slackPlatform, "discord": discordPlatform,
	}
}

func telegramPlatform(t *testing.T) platform {
	const token = "7001:canary-token"
	f, err := channelstest.NewTelegram("", token)
	ready(t, err, f)
	f.Knows(42)
	return platform{
		config: obj{"token": "env:TOKEN", "api_base": f.URL()}, secrets: map[string]string{"env:TOKEN": token}, owner: "42", listening: f.Listening,
		say: func() {
			f.Say(42, "hello")
			f.File("a.txt", []byte("a"))
			f.Write(obj{"from": f.Person(42, "Sam"), "document": obj{"file_id": "a.txt", "file_name": "a.txt", "file_size": 1}})
			f.Press(42, 1, "/status")
		},
		sends: "/sendMessage",
	}
}

func matrixPlatform(t *testing.T) platform {
	const room, sam = "!chat:hob.test", "@sam:hob.test"
	f, err := channelstest.NewMatrix("", "@hob:hob.test", "canary-token")
	ready(t, err, f)
	f.Room(room, "", sam)
	f.Direct(sam, room)
	return platform{
		config: obj{"homeserver": f.URL(), "token": "env:TOKEN"}, secrets: map[string]string{"env:TOKEN": "canary-token"}, owner: sam, listening: f.Listening,
		say: func() {
			f.Say(room, sam, "hello")
			f.Write(room, sam, obj{"msgtype": "m.file", "body": "a.txt", "url": "mxc://hob.test/a", "info": obj{"size": 1}})
			f.Say(room, sam, "bye")
		},
		sends: "/send/m.room.message/",
	}
}

func ntfyPlatform(t *testing.T) platform {
	f, err := channelstest.NewNtfy("")
	ready(t, err, f)
	return platform{
		config: obj{"server": f.URL(), "topic": "talk"}, owner: "talk",
		listening: func(ctx context.Context) {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for f.Listening() == 0 && ctx.Err() == nil {
				<-tick.C
			}
		},
		say: func() {
			for _, text := range []string{"hello", "again", "bye"} {
				f.Publish("talk", text)
			}
		},
		sends: "/talk",
	}
}

func signalPlatform(t *testing.T) platform {
	const sam = "11111111-1111-4111-8111-111111111111"
	f, err := channelstest.NewSignal("", "+491701234567")
	ready(t, err, f)
	return platform{
		config: obj{"account": "+491701234567", "url": f.URL(), "command": "/nowhere/signal-cli"}, owner: sam, listening: f.Listening,
		say: func() {
			f.Say(sam, "hello")
			f.Write(sam, obj{"attachments": []obj{{"id": "a", "filename": "a.txt", "contentType": "text/plain", "size": 1}}})
			f.Edit(sam, f.Say(sam, "bye"), obj{"message": "farewell"})
		},
		sends: "/api/v1/rpc",
	}
}

func slackPlatform(t *testing.T) platform {
	const app, bot, sam = "xapp-1-A0HOB-canary", "xoxb-1-canary", "U042"
	f, err := channelstest.NewSlack("", app, bot)
	ready(t, err, f)
	f.Person(sam, "Sam")
	return platform{
		config:  obj{"app_token": "env:APP", "bot_token": "env:BOT", "api_base": f.URL() + "/api"},
		secrets: map[string]string{"env:APP": app, "env:BOT": bot}, owner: sam, listening: f.Listening,
		say: func() {
			for _, text := range []string{"hello", "again", "bye"} {
				f.Say(sam, text)
			}
		},
		sends: "/chat.postMessage",
	}
}

func discordPlatform(t *testing.T) platform {
	const token, sam = "MTk4.Cl2FMQ.canary-part_of-it", "42"
	f, err := channelstest.NewDiscord("", token)
	ready(t, err, f)
	f.Direct(sam)
	return platform{
		config: obj{"token": "env:TOKEN"}, secrets: map[string]string{"env:TOKEN": "Bot " + token}, owner: sam, listening: f.Listening, transport: f.Client(&http.Client{}).Transport,
		say: func() {
			f.Say(sam, "hello")
			f.Press(sam, "17", "/status")
			f.Write(obj{"attachments": []obj{{"filename": "a.txt", "size": 1, "url": f.File("a.txt", []byte("a"))}}})
			f.Say(sam, "bye")
		},
		sends: "/messages",
	}
}

func ready(t *testing.T, err error, f interface{ Close() }) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
}

// notedInbox notes the positions that a channel asks for, as the daemon's inbox does.
type notedInbox struct {
	*channelstest.MessageInbox
	rec *record.Recorder
}

func (b notedInbox) Cursor(ctx context.Context, source, identity string) (string, error) {
	value, err := b.MessageInbox.Cursor(ctx, source, identity)
	b.rec.Line("channels."+source, record.Cursor, []byte(value))
	return value, err
}

// recorded runs a channel of a kind twice, the second time with a recording, and returns the file and what hob has read then.
func recorded(t *testing.T, kind string, p platform) (file string, read []string) {
	t.Helper()
	var secrets secret.Redactor
	for name, value := range p.secrets {
		secrets.Add(name, value)
	}
	rec := &record.Recorder{Dir: t.TempDir(), Hide: secrets.Text, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if p.transport == nil {
		p.transport = &http.Transport{}
	}
	web := &http.Client{Transport: rec.Web("channels.phone", p.transport)}
	t.Cleanup(web.CloseIdleConnections)
	owner := []event.Address{event.Address("phone:" + p.owner)}
	build := func() channels.Channel {
		t.Helper()
		ch, err := channels.Build(chanall.All(), "phone", kind, channels.Env{
			HTTP: web, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler), Owner: func() []event.Address { return owner },
			Secret: func(ref string) (string, error) { return p.secrets[ref], nil },
			Frame: func(sent bool, text []byte) {
				rec.Line("channels.phone", map[bool]string{true: record.Sent, false: record.Received}[sent], text)
			},
		}, func(into any) error {
			mine := maps.Clone(p.config)
			delete(mine, "command")
			return json.Unmarshal([]byte(asJSON(t, mine)), into)
		})
		if err != nil {
			t.Fatal(err)
		}
		return ch
	}
	in := notedInbox{&channelstest.MessageInbox{}, rec}
	stop := channelstest.Keep(t, build(), in)
	p.listening(t.Context())
	in.Until(t, func() bool { return in.Stored().Value != "" })
	stop()
	state, err := rec.Start(record.Head{Subject: "channels.phone", Kind: kind, Config: daemon.Portable(p.config), Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	ch := build()
	stop = channelstest.Keep(t, ch, in)
	p.listening(t.Context())
	p.say()
	in.Until(t, func() bool { return in.Count() >= 3 })
	if _, err := ch.Send(t.Context(), channels.Delivery{To: owner[0], Body: "answer", Parts: 1, Nonce: "n"}); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := rec.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, m := range in.List() {
		read = append(read, asJSON(t, m))
	}
	for _, m := range in.Accepted() {
		read = append(read, asJSON(t, m))
	}
	for range in.Gaps() {
		read = append(read, "a gap")
	}
	return state.File, read
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What hob has read on a channel is read again from its recording, over HTTP and over a WebSocket, and no token is in the file.
func TestReplayOfEveryChannel(t *testing.T) {
	t.Parallel()
	for kind, open := range platforms() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			file, want := recorded(t, kind, p)
			raw, err := os.ReadFile(file)
			head, _, _ := strings.Cut(string(raw), "\n")
			if err != nil || strings.Contains(string(raw), "canary") || strings.Contains(string(raw), "press-token") || strings.Contains(head, "signal-cli") || strings.Contains(head, "env:TOKEN") {
				t.Errorf("the file has a secret, a reference to one or a program: %v\n%s", err, raw)
			}
			r, err := daemon.Replay(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			var got, listed []string
			for _, h := range r.Read {
				if !h.Parsed {
					listed = append(listed, h.Request)
				}
				got = append(got, h.Messages...)
				if h.Parsed && h.Fault != "" && h.Fault != h.Answer.End {
					t.Errorf("%s: %s", h.Request, h.Fault)
				}
			}
			if len(want) < 3 || !slices.Equal(readAgain(got), readAgain(want)) {
				t.Errorf("replayed\n%s\nwas\n%s\nthe file has\n%s\nread is %s", strings.Join(got, "\n"), strings.Join(want, "\n"), raw, asJSON(t, r.Read))
			}
			if !slices.ContainsFunc(listed, func(s string) bool { return strings.Contains(s, p.sends) }) {
				t.Errorf("the answer is not listed: %q", listed)
			}
		})
	}
}

// readAgain returns texts without what a replay cannot know, in an order of their own. Some come twice, and hob's own message may come after the end.
func readAgain(list []string) []string {
	list = slices.DeleteFunc(list, func(m string) bool { return strings.Contains(m, `"text":"answer"`) })
	for i, m := range list {
		m = strings.ReplaceAll(m, channels.StandIn+"/", "7001/") // the number of a bot is in its token
		m = regexp.MustCompile(`"received":"[^"]*"`).ReplaceAllString(m, "")
		list[i] = regexp.MustCompile(`^\{"from":"20.*`).ReplaceAllString(m, "a gap")
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Each kind is recorded, or is said to be none that can be.
func TestKindsThatAreRecorded(t *testing.T) {
	for _, k := range chanall.All() {
		if _, ok := platforms()[k.Name]; ok == slices.Contains([]string{"email", "irc"}, k.Name) {
			t.Errorf("%s: %v", k.Name, ok)
		}
	}
}

// A recording that was cut in any line, or is of another kind, is read as far as it goes.
func TestReplayOfBrokenChannels(t *testing.T) {
	t.Parallel()
	for kind, open := range platforms() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file, _ := recorded(t, kind, open(t))
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(raw), "\n")
			broken := filepath.Join(t.TempDir(), "broken.jsonl")
			replay := func(text string) {
				if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := daemon.Replay(t.Context(), broken)
				if _, ok := event.AsFault(err); err != nil && !ok {
					t.Errorf("%v is no sentence for a person", err)
				}
				for _, h := range r.Read {
					if strings.Contains(h.Fault, "hob waits") {
						t.Errorf("%s waits for the end of its time:\n%s", h.Request, text)
					}
				}
			}
			for n := range lines {
				replay(strings.Join(lines[:n], "") + lines[n][:len(lines[n])/2])
			}
			for other := range platforms() {
				replay(strings.Replace(string(raw), `"kind":"`+kind+`"`, `"kind":"`+other+`"`, 1))
			}
			replay(strings.ReplaceAll(string(raw), `\"`, `}`))
		})
	}
}

// A channel that only sends makes no request to receive: its requests are listed.
func TestReplayOfAChannelThatOnlySends(t *testing.T) {
	t.Parallel()
	head := record.Head{Format: 1, Subject: "channels.phone", Kind: "ntfy", Config: json.RawMessage(`{"topic":"talk","receive":false}`)}
	h := replayed(t, head, record.Entry{What: record.Request, N: 1, Method: http.MethodPost, URL: "https://ntfy.sh/talk"}, record.Entry{What: record.Response, N: 1, Status: 200})
	if len(h) != 1 || h[0].Parsed || h[0].Fault != "" || h[0].Status != 200 {
		t.Errorf("%+v", h)
	}
}

// A recording of others starts no program, however its section spells the key.
func TestReplayStartsNothing(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n>"+started+"\n"), 0o700); err != nil { // #nosec G306 -- it must run
		t.Fatal(err)
	}
	var refusals []record.Entry // hob starts the program if its server does not answer
	for n := range 20 {
		refusals = append(refusals, record.Entry{What: record.Request, N: n, Method: http.MethodGet, URL: "http://127.0.0.1:8080/api/v1/check"}, record.Entry{What: record.Response, N: n, Status: 500})
	}
	for _, key := range []string{"command", "Command", "COMMAND"} {
		config := json.RawMessage(asJSON(t, obj{"account": "+491701234567", key: program}))
		replayed(t, record.Head{Format: 1, Subject: "channels.phone", Kind: "signal", Config: config}, refusals...)
		if _, err := os.Stat(started); err == nil {
			t.Errorf("%s was started", key)
		}
	}
}

// pigeon is a channel whose Run is a function.
type pigeon struct {
	env channels.Env
	run func(ctx context.Context, web *http.Client, in channels.Inbox) error
}

func (p pigeon) Run(ctx context.Context, in channels.Inbox) error        { return p.run(ctx, p.env.HTTP, in) }
func (p pigeon) Send(context.Context, channels.Delivery) (string, error) { return "", nil }

// flown reads a recording with a channel: an empty position, two requests, and a later position.
func flown(t *testing.T, run func(ctx context.Context, web *http.Client, in channels.Inbox) error) []*record.Heard {
	t.Helper()
	kind := channels.Of(channels.Kind{Name: "pigeon"}, struct{}{}, func(env channels.Env, _ struct{}) (pigeon, error) { return pigeon{env, run}, nil })
	log := record.Log{Head: record.Head{Subject: "channels.phone", Kind: "pigeon"}, Entries: []record.Entry{{What: record.Cursor}}}
	for n, url := range []string{"http://h/1", "http://h/2"} {
		log.Entries = append(log.Entries, record.Entry{What: record.Request, N: n, Method: http.MethodGet, URL: url}, record.Entry{What: record.Response, N: n, Status: 200})
	}
	log.Entries = append(log.Entries, record.Entry{What: record.Cursor, Body: "later"})
	list, err := daemon.ReplayChannel(t.Context(), "phone", log, []channels.Kind{kind})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list
}

// fetch makes a request.
func fetch(ctx context.Context, web *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// A channel reads from the position that it had when the recording began, also if that was none.
func TestReplayBeginsWhereTheRecordingDid(t *testing.T) {
	t.Parallel()
	var positions []string
	flown(t, func(ctx context.Context, _ *http.Client, in channels.Inbox) error {
		at, err := in.Cursor(ctx, "phone", "")
		positions = append(positions, at)
		return err
	})
	if !slices.Equal(positions, []string{""}) {
		t.Errorf("began at %q", positions)
	}
}

// A panic of a parser is the fault of the exchange that it has read, and the rest is read.
func TestReplayOfAChannelThatPanics(t *testing.T) {
	t.Parallel()
	panicked := false
	list := flown(t, func(ctx context.Context, web *http.Client, _ channels.Inbox) error {
		url := "http://h/1"
		if panicked {
			url = "http://h/2"
		}
		if err := fetch(ctx, web, url); err != nil {
			return err
		}
		if !panicked {
			panicked = true
			panic("nil map")
		}
		return nil
	})
	if list[0].Fault != "hob panicked: nil map" || !list[1].Parsed || list[1].Fault != "" {
		t.Errorf("%s", asJSON(t, list))
	}
}

// A file may hold a name once that is in each of its messages. The replay keeps only so many bytes of them, from however many calls.
func TestReplayKeepsFewMessages(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("x", 1<<20)
	many := slices.Repeat([]channels.Message{{Chat: channels.Chat{Title: name}}}, 20)
	calls := 0
	list := flown(t, func(ctx context.Context, web *http.Client, in channels.Inbox) error {
		if err := fetch(ctx, web, "http://h/1"); err != nil {
			return err
		}
		for ctx.Err() == nil && calls < 100 {
			calls++
			if err := in.Receive(ctx, many, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if n := len(list[0].Messages); n != 31 || calls != 2 || list[0].Fault != "hob has read 32 MB of messages, and the rest was not read" || list[1].Parsed {
		t.Errorf("%d messages, %d calls, fault %q, the next was read: %t", n, calls, list[0].Fault, list[1].Parsed)
	}
}
