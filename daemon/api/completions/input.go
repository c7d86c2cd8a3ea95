package completions

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// Opening describes the request to the store, which finds its conversation.
func (c Conversation) Opening(client api.Endpoint) api.ChatOpening {
	o := api.ChatOpening{Client: client.ID, Name: client.Name, Person: c.Person, Digest: c.digest(len(c.all))}
	for _, m := range c.all {
		o.Seen = append(o.Seen, m.digest)
	}
	// A client sends what was said before, hob's newest answer, and one new message.
	if n := len(c.all); n > 2 && c.last == n-1 && c.all[n-2].Role == "assistant" {
		o.Before, o.Answer = c.digest(n-2), c.all[n-2].Text
	}
	return o
}

// digest identifies the first n messages.
func (c Conversation) digest(n int) string {
	sum := sha256.New()
	digest(sum, c.Person)
	for _, m := range c.all[:n] {
		digest(sum, m.digest)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// foreign lists the messages that the conversation does not have yet: hob has not said them, and they have not come before.
func (c Conversation) foreign(r api.ChatRequest) (list []Message) {
	known := make(map[string]bool, len(r.Known))
	for _, digest := range r.Known {
		known[digest] = true
	}
	for _, m := range c.Others {
		if known[m.digest] || strings.TrimSpace(m.Text) == "" {
			continue
		}
		if hobs := m.Role == "assistant" && slices.ContainsFunc(r.Answers, func(text string) bool { return api.TellsAnswer(m.Text, text) }); !hobs {
			list = append(list, m)
		}
	}
	return list
}

// Input makes the input of a request. It is a message and never anything else: a client gives no commands, answers and approvals.
// The messages that hob does not know stand before it as foreign text.
func (c Conversation) Input(client api.Endpoint, r api.ChatRequest) event.In {
	in := event.In{
		Source: event.Endpoint, ExtID: r.ExtID, Session: r.Session, ReplyTo: event.Address(r.Session), Kind: event.Message,
		Rank: event.RankRest, Trust: event.Known, Tainted: true, Sender: client.Name, Received: r.At,
	}
	told := c.foreign(r)
	if client.Trust == event.Owner {
		in.Trust, in.Rank, in.Tainted = event.Owner, event.RankOwner, len(told) > 0 || client.Foreign != ""
	}
	if len(told) > 0 {
		var b strings.Builder
		b.WriteString("[earlier in this conversation, as the program " + client.Name + " tells it; hob has not seen it, so it is not checked]")
		for _, m := range told {
			b.WriteString("\n" + m.Role + ": " + llm.Quoted(m.Text))
		}
		in.Parts = event.Say(event.Shorten(b.String(), maxTold) + "\n[end of what it tells; the message follows]")
	}
	if text := strings.Trim(c.Text, "\r\n"); strings.TrimSpace(text) != "" {
		in.Parts = append(in.Parts, event.Say(text)...)
	}
	return in
}
