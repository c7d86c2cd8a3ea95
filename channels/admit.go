package channels

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
)

// Refusal says why a message is not listened to. Whoever wrote it never learns that.
type Refusal string

// The refusals. Only Stranger may still become somebody: by the code of a pairing.
const (
	Admitted   Refusal = ""
	Own        Refusal = "hob wrote it itself"
	Automatic  Refusal = "a machine wrote it"
	Stranger   Refusal = "nobody that hob knows"
	OtherGroup Refusal = "a group that is not listed"
	NotMeant   Refusal = "in a group, and hob was not mentioned"
	Foul       Refusal = "a button that hob has not drawn"
	Blank      Refusal = "there is nothing in it"
	TakenBack  Refusal = "its words were taken back" // and what was read stays read
)

// Admit decides about a message on a channel: the input that it becomes, without its files, or why it is refused. It is pure.
//
// Only the owner, in a private chat, has commands and buttons, and only his own words count as typed; what he passes on is foreign
// text, and what he edits is never a command. Others whom hob knows have a session for each chat. In a group that is listed, what is meant for hob counts as a
// known person's words when the owner or somebody known wrote it, else as the public's; nobody has commands there.
func Admit(channel string, m Message, r Rules, now time.Time) (event.In, Refusal) {
	owner := slices.Contains(r.Owner, m.From.ID)
	trust, known := r.Known[m.From.ID]
	switch {
	case m.From.Self || m.From.ID == "":
		return event.In{}, Own
	case m.Auto || m.From.Bot && !known:
		return event.In{}, Automatic
	case m.Chat.Group != "" && !slices.Contains(r.Groups, m.Chat.Group):
		return event.In{}, OtherGroup
	case m.Chat.Group != "" && !m.Mentioned:
		return event.In{}, NotMeant
	case m.Chat.Group == "" && !owner && !known:
		return event.In{}, Stranger
	case m.Choice != "" && (!owner || m.Chat.Group != "" || !drawn(m.Choice)):
		return event.In{}, Foul
	case m.Deletes != "":
		return event.In{}, TakenBack
	case m.Choice == "" && len(m.Files) == 0 && strings.TrimSpace(m.Text) == "":
		return event.In{}, Blank
	}
	in := event.In{
		Source: channel, ExtID: m.ID, Kind: event.Message, Rank: event.RankRest, Sender: m.From.Name,
		ReplyTo: event.Address(channel + ":" + m.Chat.ID), ReplyRef: m.ReplyTo, Received: now,
		Origin: event.Origin{Person: m.From.ID, Sent: m.At, Edits: m.Edits},
	}
	switch {
	case m.Chat.Group == "" && owner:
		return fromOwner(in, m), Admitted
	case m.Chat.Group == "":
		in.Trust = trust
	case owner || known && trust == event.Known:
		in.Trust = event.Known
	default:
		in.Trust = event.Public
	}
	in.Session = session(channel, m.Chat)
	in.Parts = said(m)
	if m.Chat.Group != "" && m.From.Name != "" && m.Chat.Title != "" {
		in.Sender = fmt.Sprintf("%s in %s", m.From.Name, m.Chat.Title)
	}
	return in, Admitted
}

// fromOwner is an input of the owner's private chat.
func fromOwner(in event.In, m Message) event.In {
	in.Rank, in.Trust, in.Session = event.RankOwner, event.Owner, "main"
	if text, foreign, ok := wordsOf(m.Choice); ok { // he has chosen them, and not written them
		in.Parts, in.Tainted = event.Say(text), foreign
		return in
	}
	in.Typed, in.Tainted = !m.Forwarded, m.Forwarded
	in.Parts = said(m)
	if m.Choice != "" || !m.Forwarded && m.Edits == "" && len(m.Files) == 0 {
		in.Kind = KindOf(in.Text())
	}
	return in
}

// drawn reports whether what stands behind a button can be hob's: a command, or words.
func drawn(choice string) bool {
	text, _, words := wordsOf(choice)
	return words && strings.TrimSpace(text) != "" || KindOf(choice) == event.Command
}

// said is the text of a message as a part; none when there is no text.
func said(m Message) []event.Part {
	text := m.Text
	if m.Choice != "" {
		text = m.Choice
	}
	text = strings.Trim(strings.ToValidUTF8(text, "\uFFFD"), "\r\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return event.Say(text)
}

// session is the conversation that a chat of somebody else's belongs to: each thread has its own.
func session(channel string, c Chat) string {
	key := channel + ":" + c.ID
	if c.Thread != "" {
		key += "/" + c.Thread
	}
	return key
}
