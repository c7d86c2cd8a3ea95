package catalog

import (
	"errors"
	"fmt"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/builtin"
	"hob/scheduler/phrase"
)

// Interpreter makes the built-in command interpreter, which answers when no model is set up and when none can be used. All fields but Off are needed.
type Interpreter struct {
	Owner func() string // the owner's name
	Path  string        // of the config file, as shown
	Zone  func() *time.Location
	Now   func() time.Time
	Off   func() string // which mistake in the config has switched the model off, "" for none
}

// Model returns the interpreter as a model. why says why it answers although a model is set up, "" when none is. chosen: the owner wants it so.
func (i Interpreter) Model(why string, chosen bool) llm.Model {
	return builtin.New(builtin.Options{Phrases: i, Owner: i.Owner(), Config: i.Path, Why: why, Chosen: chosen, Off: i.Off, Now: func() time.Time { return i.Now().In(i.Zone()) }})
}

// Understands reports whether the interpreter knows a command.
func (i Interpreter) Understands(text string) bool { return builtin.Understands(text, i) }

// First reports whether the interpreter answers a text of the owner before a model does. See builtin.First.
func (i Interpreter) First(text string) (ok bool, name string) { return builtin.First(text, i) }

// Prefix resolves the longest schedule that words begin with, in the owner's zone.
func (i Interpreter) Prefix(words string) (schedule, rest string, err error) {
	r, rest, err := phrase.Prefix(words, i.Zone(), i.Now())
	if errors.Is(err, phrase.ErrNone) {
		return "", "", fmt.Errorf("%w: %w", builtin.ErrNoPhrase, err)
	}
	return r.Words, rest, err
}
