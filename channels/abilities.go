package channels

// Repeats says what becomes of a message of which it is not known whether it has arrived.
type Repeats string

// The ways to deal with a possible repeat.
const (
	ByKey  Repeats = "key"  // it is sent again under its key, and arrives once
	ByLook Repeats = "look" // it is looked up, and sent again if it is not there
	Marked Repeats = "mark" // it is sent to the owner once more, with a mark; about anybody else he is asked
)

// Abilities is what an adapter can do, as it says itself by the methods that it has.
type Abilities struct {
	Form    string  // how texts are written, as markup.Form names it
	Limit   int     // of one message, in the platform's units; 0 for none
	Groups  bool    // it knows persons, and listens in groups where hob is meant
	Typing  bool    // it shows that hob is at work
	Edits   bool    // what was sent can be given another text
	Buttons bool    // what the reader can choose is shown as buttons
	MaxFile int64   // of a file that it can send, in bytes; 0: it sends none
	Repeats Repeats // after a crash or a cut
	Account bool    // it knows its own immutable id
}

// AbilitiesOf asks a channel what it can do. It calls nothing that goes over the wire.
func AbilitiesOf(ch Channel) Abilities {
	form := FormOf(ch)
	a := Abilities{Form: form.Name, Limit: form.Limit, Repeats: Marked}
	_, a.Groups = AudienceOf(ch)
	if p, ok := ch.(Private); ok && p.Private() {
		a.Groups = false
	}
	_, a.Typing = ch.(Typer)
	_, a.Edits = ch.(Editor)
	_, a.Account = ch.(Accounted)
	if b, ok := ch.(Buttoned); ok {
		a.Buttons = b.Buttons()
	}
	if c, ok := ch.(Carrier); ok {
		a.MaxFile = c.MaxFile()
	}
	if _, ok := ch.(Finder); ok {
		a.Repeats = ByLook
	}
	if k, ok := ch.(Keyed); ok && k.DedupsByNonce() {
		a.Repeats = ByKey // which needs no look
	}
	return a
}
