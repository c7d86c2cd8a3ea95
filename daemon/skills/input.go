package skills

import (
	"context"
	"errors"
	"fmt"

	"hob/daemon/event"
	"hob/tools"
	host "hob/tools/skills"
)

// mostInstructions limits what /NAME puts into a message, in bytes. Longer instructions are read with the tool, which pages them.
const mostInstructions = 20_000

// Input makes the part of a message that runs a skill, for "/NAME ARGS". ok is false if no skill of the name is in use. A fault is an answer
// for the owner.
func (c *Copies) Input(_ context.Context, name, args string) (part event.Part, ok bool, err error) {
	if _, _, err := c.Body(name); errors.Is(err, host.ErrUnknown) {
		return part, false, nil
	}
	u, err := host.Use(c, name, args)
	if err != nil {
		r := tools.ErrorResult(err)
		text := r.Content
		if r.Hint != "" {
			text = text[:len(text)-len("\nhint: "+r.Hint)]
		}
		return part, true, event.NewFault(event.Invalid, r.Hint, "%s", text[len(string(r.Code))+2:])
	}
	text := u.Text
	if len(text) > mostInstructions {
		text = fmt.Sprintf("[skill %s]\nIts instructions are long. Call skill now: action run, name %s, and the owner's words after the name as args.", name, name)
	}
	return event.Part{Kind: event.Text, Text: text, Skill: u.Narrowing()}, true, nil
}

// Facts is what hob's summary of itself is made of, see tools/skills.
type Facts = host.Facts
