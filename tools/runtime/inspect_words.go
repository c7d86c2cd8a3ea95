package runtime

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unknown replaces the parts of a word that only the shell knows: the output of a command, an unset
// variable.
const unknown = "\x00"

// maxBraces limits the words that one brace expression expands to.
const maxBraces = 64

// argv returns the words of a simple command.
func (c *shellState) argv(call *syntax.CallExpr) []string {
	var out []string
	for _, w := range call.Args {
		out = append(out, c.fields(w)...)
	}
	return out
}

// fields expands a shell word into words, as far as that is possible without running anything.
func (c *shellState) fields(w *syntax.Word) []string {
	var out []string
	for _, plain := range braces(w) {
		text, split := c.parts(plain.Parts, false)
		if split {
			out = append(out, strings.Fields(text)...)
			continue
		}
		out = append(out, text)
	}
	return out
}

// text expands a word without splitting it.
func (c *shellState) text(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	text, _ := c.parts(w.Parts, false)
	return text
}

// braces expands {a,b}. It leaves sequences, and expansions beyond maxBraces, as they are.
func braces(w *syntax.Word) []*syntax.Word {
	done := []*syntax.Word{{}}
	split := *w
	split.Parts = append([]syntax.WordPart(nil), w.Parts...)
	if !syntax.SplitBraces(&split) {
		return []*syntax.Word{w}
	}
	for _, part := range split.Parts {
		b, ok := part.(*syntax.BraceExp)
		if !ok || b.Sequence || len(done)*len(b.Elems) > maxBraces {
			for _, d := range done {
				d.Parts = append(d.Parts, part)
			}
			continue
		}
		var more []*syntax.Word
		for _, d := range done {
			for _, e := range b.Elems {
				parts := append(append([]syntax.WordPart(nil), d.Parts...), e.Parts...)
				more = append(more, &syntax.Word{Parts: parts})
			}
		}
		done = more
	}
	return done
}

// parts expands the parts of a word. split reports whether the shell would split the result at its
// blanks.
func (c *shellState) parts(parts []syntax.WordPart, quoted bool) (text string, split bool) {
	var b strings.Builder
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(c.literal(p.Value, i == 0 && !quoted, quoted))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner, _ := c.parts(p.Parts, true)
			b.WriteString(inner)
		case *syntax.ParamExp:
			value := c.parameter(p)
			split = split || !quoted && strings.ContainsAny(value, " \t\n")
			b.WriteString(value)
		default:
			b.WriteString(unknown)
		}
	}
	return b.String(), split
}

// literal removes backslashes and expands a leading tilde.
func (c *shellState) literal(s string, first, quoted bool) string {
	if first && strings.HasPrefix(s, "~") {
		name, _, _ := strings.Cut(s, "/")
		switch rest := s[len(name):]; {
		case name == "~":
			s = c.home + rest
		case name == "~+":
			s = c.cwd + rest
		case name[1] == '-' || name[1] >= 'a' && name[1] <= 'z': // the folder before, or the home of another user
			s = unknown + rest
		}
	}
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parameter returns the value of a variable that the command has set, or of HOME and PWD.
func (c *shellState) parameter(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil {
		return unknown
	}
	if value, ok := c.vars[p.Param.Value]; ok {
		return value
	}
	return unknown
}
