package channels

// Repeats says how a channel deals with a message when nobody knows whether an earlier try arrived.
type Repeats string

// The ways to deal with a possible repeat, the safest first.
const (
	ByKey  Repeats = "key"  // send again with the same key; the platform delivers it once
	ByLook Repeats = "look" // look it up, and send again if it is not there
	Marked Repeats = "mark" // send again to the owner, with a mark; for anybody else, ask the owner
)

// Abilities lists what an adapter can do. It is derived from the optional interfaces that the adapter
// implements.
type Abilities struct {
	Form    string  // name of the text format, as in markup.Form
	Limit   int     // of one message, in the platform's units; 0: no limit
	Groups  bool    // it can tell senders apart, and answers in groups when hob is mentioned
	Typing  bool    // it can show that hob is typing
	Edits   bool    // it can change a message that was sent
	Buttons bool    // it shows choices as buttons
	MaxFile int64   // largest file that it can send, in bytes; 0: it sends no files
	Repeats Repeats // what it does after a crash or a lost connection
	Account bool    // it reports hob's immutable account id
}

// AbilitiesOf derives the abilities of a channel from its methods. It makes no network calls.
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
		a.Repeats = ByKey // a key makes the look-up unnecessary
	}
	return a
}
