package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
)

// What the model says reaches nobody with a secret in it: neither the pieces of an answer, nor the events, nor the messages on a channel.
// The model itself reads what it said as it said it.
func TestWhatIsSaidHasNoSecrets(t *testing.T) {
	t.Parallel()
	const key = "plain 77 key 4411 and more of it"
	tg, err := channelstest.NewTelegram("", "42:token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(q llmtest.Request) llmtest.Turn {
		if strings.Contains(q.Last(), "tell") {
			answer := llmtest.Use("message", `{"to":"owner","content":"for you: `+key+`","buttons":["no","`+key+`"]}`)
			answer.Text = "the key is " + key + ", keep it"
			return llmtest.Streamed(answer)
		}
		return llmtest.Streamed(llmtest.Say("again: " + key + ", then " + key[:9]))
	})
	home := t.TempDir()
	put(t, "42:token", home, "token")
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n[owner]\naddresses = [\"telegram:%d\"]\n[tools.web]\nsearch_key = %q\n"+
		"[channels.telegram]\ntoken = \"file:token\"\napi_base = %q\n", model.URL, onTelegram, key, tg.URL()))
	r := start(t, home)
	receipt, err := r.client.Post(t.Context(), client.Message{Text: "tell"})
	if err != nil {
		t.Fatal(err)
	}
	over, streamed, said := errors.New("over"), map[int]string{}, ""
	err = r.client.Follow(t.Context(), receipt.Event-1, true, func(frame client.Frame) error {
		if frame.Piece != nil {
			streamed[frame.Piece.Step] += frame.Piece.Text
			return nil
		}
		doc, err := json.Marshal(frame.Event)
		if err != nil || strings.Contains(string(doc), "4411") {
			t.Errorf("%s: %s %v", frame.Event.Type, doc, err)
		}
		if frame.Event.Type != "turn.finished" {
			return nil
		}
		said, _ = frame.Event.Data["text"].(string)
		return over
	})
	if !errors.Is(err, over) {
		t.Fatal(err)
	}
	pieces := ""
	for _, text := range streamed {
		pieces += text + "\n"
	}
	if strings.Contains(pieces+said, "4411") || strings.Count(pieces, "[secret ") != 2 || !strings.Contains(pieces, said+"\n") || !strings.HasSuffix(said, key[:9]) {
		t.Errorf("streamed %q, said %q", pieces, said)
	}
	tg.Say(onTelegram, "once more")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("on the channel: %+v", tg.Sent())
		}
	})
	r.until("the answer on the channel", func() bool {
		return slices.ContainsFunc(tg.Sent(), func(m channelstest.TelegramSent) bool { return strings.HasSuffix(m.Text, key[:8]) })
	})
	for _, m := range tg.Sent() {
		if doc := fmt.Sprintf("%+v", m); strings.Contains(doc, "4411") || !strings.Contains(doc, "[secret ") {
			t.Errorf("on the channel: %s", doc)
		}
	}
	if doc := fmt.Sprint(model.Requests()[len(model.Requests())-1].Messages); !strings.Contains(doc, key) {
		t.Errorf("the model reads another text than it said: %s", doc)
	}
}
