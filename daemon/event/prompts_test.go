package event_test

import (
	"testing"

	"hob/daemon/event"
)

// N41, F5: who carries out a prompt, by what is understood, what was asked for, and what was before.
func TestPlainPrompts(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name, prompt string
		asked        *bool
		before       string
		was, noModel bool
		plain, fails bool
	}{
		{name: "made without a model", prompt: "run df", noModel: true, plain: true},
		{name: "made with a model", prompt: "run df"},
		{name: "asked for", prompt: "run df", asked: &yes, plain: true},
		{name: "asked for the model", prompt: "run df", asked: &no, noModel: true},
		{name: "not understood", prompt: "brief me", noModel: true},
		{name: "asked for and not understood", prompt: "brief me", asked: &yes, fails: true},
		{name: "a text that is sent", prompt: "say: tea", noModel: true},
		{name: "a text that is sent, asked for", prompt: "say: tea", asked: &yes, plain: true},
		{name: "unchanged", prompt: "run df", before: "run df", was: true, plain: true},
		{name: "unchanged, and no model now", prompt: "run df", before: "run df", noModel: true},
		{name: "another command", prompt: "run ls", before: "run df", was: true, plain: true},
		{name: "another prompt for a model", prompt: "brief me", before: "run df", was: true},
		{name: "taken back", prompt: "run df", before: "run df", was: true, asked: &no},
	} {
		p := event.Prompts{NoModel: func() bool { return c.noModel }, Understands: func(s string) bool { return s == "run df" || s == "run ls" }}
		plain, err := p.Plain(c.prompt, c.asked, c.before, c.was)
		if plain != c.plain || (err != nil) != c.fails {
			t.Errorf("%s: plain %v, %v; want %v, an error %v", c.name, plain, err, c.plain, c.fails)
		}
		if lacks := p.Lacks(c.prompt, plain); lacks != (c.noModel && c.prompt == "brief me") {
			t.Errorf("%s: it lacks a model: %v", c.name, lacks)
		}
	}
}
