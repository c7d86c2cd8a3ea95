package event

import "strings"

// Prompts decides who carries out the prompt of a job, a watch, a webhook or a task: a model, or the built-in interpreter. With the zero value
// it is always a model.
type Prompts struct {
	NoModel     func() bool              // reports whether no model is connected
	Understands func(prompt string) bool // reports whether the interpreter understands the whole prompt
}

// NeedsModel is what the owner is told about a prompt that nobody can carry out.
const NeedsModel = "this needs a model (hob setup); without one each run fails"

// NoModelAsked describes a plain thing.
const NoModelAsked = "the built-in interpreter runs it, no model is asked"

// AsksModel reports whether the runs of a prompt ask the model that is connected. A text that is only sent asks none.
func AsksModel(prompt string, plain bool) bool { return !plain && !strings.HasPrefix(prompt, "say:") }

// PlainMark follows the state of a plain thing in a list.
func PlainMark(plain bool) string {
	if plain {
		return ", plain"
	}
	return ""
}

// Plain reports whether the interpreter carries out a prompt, also when a model is connected. asked is the wish for it, nil if there is none.
// Without a wish, an unchanged prompt stays as it was, and a new one is plain if it was plain before or no model is connected.
func (p Prompts) Plain(prompt string, asked *bool, before string, was bool) (bool, error) {
	if p.NoModel == nil {
		return false, nil
	}
	understood := !AsksModel(prompt, false) || p.Understands(prompt)
	switch {
	case asked != nil && *asked && !understood:
		return false, NewFault(Invalid, "for example: run df -h, or: read notes.md", "plain: the built-in interpreter does not understand this prompt: %s", Shorten(prompt, 80))
	case asked != nil:
		return *asked, nil
	case prompt == before:
		return was, nil
	}
	return understood && AsksModel(prompt, false) && (was || p.NoModel()), nil
}

// Lacks reports whether a prompt needs a model and none is connected.
func (p Prompts) Lacks(prompt string, plain bool) bool {
	return p.NoModel != nil && AsksModel(prompt, plain) && p.NoModel() && !p.Understands(prompt)
}
