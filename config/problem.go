package config

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"hob/daemon/text"
)

// Problem is one mistake in the configuration.
type Problem struct {
	File    string `json:"file,omitempty"`    // the given path, or the name of an environment variable
	Line    int    `json:"line,omitempty"`    // from 1; 0: no line
	Column  int    `json:"column,omitempty"`  // in characters, from 1
	Section string `json:"section,omitempty"` // its section, e.g. "channels.alerts"; "" for the whole file
	Key     string `json:"key,omitempty"`     // full key, e.g. "model.api_key"
	Text    string `json:"text"`              // the mistake
	Hint    string `json:"hint,omitempty"`    // how to correct it; may be empty
	Fatal   bool   `json:"fatal"`             // it switches the section off; otherwise only the wrong value is ignored
	Advice  bool   `json:"advice"`            // advice, not a mistake: the validation still passes
}

// String formats a problem: "config.toml:12:3: unknown key "modle": did you mean "model"?".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
		}
		b.WriteByte(' ')
	}
	b.WriteString(p.Text)
	// The consequence is part of the message: one wrong value can switch off a whole section.
	if p.Fatal && p.Section != "" {
		b.WriteString(", so [" + p.Section + "] is off")
		// These two sections deny every tool when they are off (see Tools).
		if p.Section == "tools" || p.Section == toolHooks {
			b.WriteString(", and with it every tool")
		}
	}
	if p.Hint != "" {
		b.WriteString(": " + p.Hint)
	}
	return b.String()
}

// Errors is a list of problems as an error. Load returns it for a file that cannot be used at all, and Decode for a section.
type Errors []Problem

// Error returns one problem per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Valid reports whether a file with these problems passes `hob config validate`.
func Valid(problems []Problem) bool {
	return !slices.ContainsFunc(problems, func(p Problem) bool { return !p.Advice })
}

func sorted(names iter.Seq[string]) []string { return slices.Sorted(names) }

// nearest returns a hint with the most similar known name, or with all names if there are few.
func nearest(name string, known []string) string {
	// A third of the letters may differ. With more the suggestion would be an unrelated name.
	best, distance := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := text.Distance(plain(name), plain(k)); d < distance {
			best, distance = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return "there are no keys here"
	case len(known) <= 13:
		return "known here: " + strings.Join(known, ", ")
	}
	return ""
}

// plain removes the differences that people confuse in names.
func plain(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

// Report is the result of checking a file, as `hob config validate --json` prints it.
type Report struct {
	File     string    `json:"file,omitempty"`
	Valid    bool      `json:"valid"`
	Problems []Problem `json:"problems"`
}
