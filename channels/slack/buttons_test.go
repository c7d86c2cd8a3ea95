package slack_test

import (
	"strings"
	"testing"

	"hob/channels"
)

// TestButtonsGo (C10): an edit with empty choices removes the buttons of a message, and shows the outcome of
// the question.
func TestButtonsGo(t *testing.T) {
	f := server(t)
	ch := open(t, f)
	d := channels.Delivery{
		Outbox: 1, Parts: 1, To: "slack:" + sam, Body: "May I?", Nonce: "n0nce", Attempts: 1,
		Choices: []channels.Choice{{Label: "Yes", Data: "/approve ABCD"}, {Label: "No", Data: "/deny ABCD"}},
	}
	id, err := ch.Send(t.Context(), d)
	if err != nil || len(f.Sent()) != 1 || len(f.Sent()[0].Buttons) == 0 {
		t.Fatalf("sent %+v, %v", f.Sent(), err)
	}
	d.Body, d.Choices = d.Body+"\n\n**Approved · ABCD**", []channels.Choice{}
	if err := ch.Edit(t.Context(), d, id); err != nil {
		t.Fatal(err)
	}
	if s := f.Sent()[0]; len(f.Sent()) != 1 || len(s.Buttons) != 0 || !strings.Contains(s.Text, "Approved · ABCD") || !strings.Contains(s.Text, "May I?") {
		t.Errorf("after the edit %+v", s)
	}
}
