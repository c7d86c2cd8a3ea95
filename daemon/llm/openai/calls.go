package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// callPieces is a tool call whose arguments are still arriving.
type callPieces struct {
	id, name string
	sent     strings.Builder // all pieces of the arguments
	from     int             // where the arguments begin in sent, behind what a later piece has replaced
	joint    joint
	extra    json.RawMessage

	read            int // bytes of sent that closed has scanned; the next fields are its state
	depth           int
	quoted, escaped bool
}

// args returns the arguments so far.
func (c *callPieces) args() string { return c.sent.String()[c.from:] }

// call adds a piece to the call that it belongs to; a whole call is always a new one.
func (a *assembly) call(p *callPiece, whole bool) error {
	args := string(p.Function.value.args() + p.args())
	if err := a.room.Spend(len(args)); err != nil {
		return err
	}
	name, id := string(p.Function.value.Name+p.Name), string(p.ID)
	at := -1
	if !whole {
		if at = a.position(p.Index.value, id, name, args); at < 0 && name == "" && id == "" && strings.TrimSpace(args) == "" {
			return nil // it says nothing about a call
		}
	}
	if at < 0 {
		a.calls = append(a.calls, &callPieces{})
		at = len(a.calls) - 1
	}
	if p.Index.value != nil {
		if old, known := a.byIndex[int(*p.Index.value)]; known && old != at {
			a.repair("one index for several calls")
		}
		a.byIndex[int(*p.Index.value)] = at
	}
	c := a.calls[at]
	// The id and the name count once; only arguments grow.
	if c.id == "" {
		c.id = id
	}
	if c.name == "" {
		c.name = name // servers send the name whole; some repeat it with every piece
	}
	if c.add(c.joint.take(args)) {
		a.repair("arguments that a later piece replaces")
	}
	if wire.Present(p.Extra) {
		c.extra = p.Extra
	}
	return nil
}

// add appends a piece of the arguments. Some servers repeat all earlier pieces in each piece, or send an empty object first: such a piece replaces what
// came before it, which is reported.
func (c *callPieces) add(piece string) (replaced bool) {
	if replaced = strings.TrimSpace(piece) != "" && c.replaced(piece); replaced {
		c.from = c.sent.Len()
		c.read, c.depth, c.quoted, c.escaped = c.from, 0, false, false
	}
	c.sent.WriteString(piece)
	return replaced
}

func (c *callPieces) replaced(piece string) bool {
	before := c.args()
	return before != "" && strings.HasPrefix(piece, before) || placeholder(before)
}

// placeholder reports whether arguments are an empty value, which some servers send before the real arguments.
func placeholder(args string) bool {
	args = strings.TrimSpace(args)
	return args == "{}" || args == "null" || args == `""`
}

// position returns the index of the call that a piece belongs to, or -1 for a new call. The id decides first, then the server's index, then the
// order. Servers disagree about the index: some omit it, some send 0 for every call, some count the pieces.
func (a *assembly) position(index *number, id, name, args string) int {
	newest := len(a.calls) - 1
	at, known := newest, false
	if index != nil {
		if at, known = a.byIndex[int(*index)]; !known {
			at = newest
		}
	}
	if id != "" {
		for at := newest; at >= 0; at-- {
			if c := a.calls[at]; c.id == id {
				twin := index != nil && !known && name != "" && (c.closed() || c.sent.Len() == 0 && args == "") // another call with the same id
				return c.or(at, twin || c.begins(name, args))
			}
		}
	}
	if at < 0 {
		return -1
	}
	c := a.calls[at]
	switch {
	case id != "" && c.id != "": // another id
		return -1
	case index != nil && !known: // without a name and an id it goes on with the newest call
		return c.or(at, name != "" || id != "")
	case index == nil && id == "" && name != "":
		return c.or(at, name != c.name || !c.continues(args))
	default:
		return c.or(at, c.begins(name, args))
	}
}

// or returns at, or -1 for a new call.
func (*callPieces) or(at int, isNew bool) int {
	if isNew {
		return -1
	}
	return at
}

// begins reports whether a piece for this id or index is a new call: the arguments are complete, and it has a name and arguments of its own, or
// another name.
func (c *callPieces) begins(name, args string) bool {
	if name == "" || c.name == "" || !c.closed() {
		return false
	}
	return name != c.name || strings.TrimSpace(args) != "" && !placeholder(c.args())
}

// continues reports whether arguments can only go on from those so far: these are not complete, and the new ones are no beginning of an object or
// repeat them.
func (c *callPieces) continues(args string) bool {
	before := c.args()
	return strings.TrimSpace(before) != "" && !c.closed() && (!strings.HasPrefix(strings.TrimSpace(args), "{") || strings.HasPrefix(args, before))
}

// closed reports whether the arguments so far are one complete JSON object. Another piece could only break it. The scan continues where the
// last one stopped.
func (c *callPieces) closed() bool {
	args := c.sent.String()
	for ; c.read < len(args); c.read++ {
		switch b := args[c.read]; {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == '{' || b == '[':
			c.depth++
		case b == '}' || b == ']':
			c.depth--
		}
	}
	return c.depth == 0 && !c.quoted && strings.HasSuffix(args[c.from:], "}")
}

// whole returns the arguments when no piece is missing. Where all pieces together are one JSON value, none of them has replaced another.
func (c *callPieces) whole() string {
	c.sent.WriteString(c.joint.rest())
	args := c.args()
	if all := c.sent.String(); c.from > 0 && !json.Valid([]byte(args)) && json.Valid([]byte(all)) {
		args = all
	}
	return args
}

// made returns the calls in the order in which they began. Malformed arguments are passed on as they are: the agent repairs them, or rejects them
// with a message that the model understands. Ids are made unique. A call that equals an earlier one, including its id, is a repeated chunk and
// dropped.
func (a *assembly) made() ([]llm.Call, error) {
	var out wire.Calls
	for i, c := range a.calls {
		args := c.whole()
		if calls, _ := objects(args); c.name == "" && len(calls) == 1 {
			c.name, args = calls[0].Name, string(calls[0].Args)
			a.repair("a call in the arguments of a call without a name")
		}
		if c.name == "" && c.sent.Len() == 0 {
			continue // an id alone
		}
		if c.id != "" && slices.ContainsFunc(a.calls[:i], func(d *callPieces) bool {
			return d.id == c.id && d.name == c.name && d.args() == c.args()
		}) {
			continue
		}
		if err := out.Add(i+1, c.id, c.name, args); err != nil {
			return nil, err
		}
	}
	return out.List, nil
}
