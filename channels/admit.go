package channels

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
)

// Refusal says why hob ignores a message. The sender never learns the reason.
type Refusal string

// The refusals. Only a Stranger can still get in, with a pairing code.
const (
	Admitted     Refusal = ""
	Own          Refusal = "hob wrote it itself"
	Automatic    Refusal = "a machine wrote it"
	Stranger     Refusal = "nobody that hob knows"
	OtherGroup   Refusal = "a group that is not listed"
	NotMeant     Refusal = "in a group, and hob was not mentioned"
	BadButton    Refusal = "a button that hob has not drawn"
	EmptyMessage Refusal = "there is nothing in it"
	TakenBack    Refusal = "its words were taken back" // an input that was already read is kept
)

// Admit decides whether hob accepts a message from a channel. It returns the input without its files, or a
// refusal. It is pure.
//
// Commands and buttons work only for the owner, in a private chat. Only what the owner wrote counts as typed:
// a forwarded message is somebody else's text, and an edited message is never a command. Other known people
// have one session for each chat. In a listed group, a message that is meant for hob has the trust "known" if
// the owner or a known person wrote it, else "public"; nobody has commands there.
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
	case m.Choice != "" && (!owner || m.Chat.Group != "" || !validChoice(m.Choice)):
		return event.In{}, BadButton
	case m.Deletes != "":
		return event.In{}, TakenBack
	case m.Choice == "" && len(m.Files) == 0 && strings.TrimSpace(m.Text) == "":
		return event.In{}, EmptyMessage
	}
	in := event.In{
		Source: channel, ExtID: m.ID, Kind: event.Message, Rank: event.RankRest, Sender: m.From.Name,
		ReplyTo: event.Address(channel + ":" + m.Chat.ID), ReplyRef: m.ReplyTo, Received: now,
		Origin: event.Origin{Person: m.From.ID, Sent: m.At, Edits: m.Edits},
	}
	switch {
	// The trust follows from the chat and the sender. The platform's ids are the only proof; names are not.
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
	in.Parts = textParts(m)
	if m.Chat.Group != "" && m.From.Name != "" && m.Chat.Title != "" {
		in.Sender = fmt.Sprintf("%s in %s", m.From.Name, m.Chat.Title)
	}
	return in, Admitted
}

// fromOwner completes an input from the owner's private chat.
func fromOwner(in event.In, m Message) event.In {
	in.Rank, in.Trust, in.Session = event.RankOwner, event.Owner, "main"
	if text, foreign, ok := parseWords(m.Choice); ok { // the owner chose these words and did not write them
		in.Parts, in.Tainted = event.Say(text), foreign
		return in
	}
	in.Typed, in.Tainted = !m.Forwarded, m.Forwarded
	in.Parts = textParts(m)
	if m.Choice != "" || !m.Forwarded && m.Edits == "" && len(m.Files) == 0 {
		in.Kind = KindOf(in.Text())
	}
	return in
}

// validChoice reports whether the data of a button can come from hob: a command, or words that Words wrote.
func validChoice(choice string) bool {
	text, _, words := parseWords(choice)
	return words && strings.TrimSpace(text) != "" || KindOf(choice) == event.Command
}

// textParts returns the text of a message as parts, none if there is no text.
func textParts(m Message) []event.Part {
	text := cmp.Or(m.Choice, m.Text)
	text = strings.Trim(strings.ToValidUTF8(text, "\uFFFD"), "\r\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return event.Say(text)
}

// session names the conversation of a chat with somebody other than the owner. Each thread has its own.
func session(channel string, c Chat) string {
	key := channel + ":" + c.ID
	if c.Thread != "" {
		key += "/" + c.Thread
	}
	return key
}
