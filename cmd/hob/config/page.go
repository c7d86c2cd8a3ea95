package config

import (
	_ "embed" // the page's beginning
	"fmt"
	"strconv"
	"strings"

	"hob/config"
	"hob/config/schema"
)

//go:embed page.md
var pageHead string

// Page is the reference as Markdown: docs/config.md.
func Page(r config.Reference) string {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("\n```toml\n")
	for i, p := range r.Parts() {
		if i > 0 {
			b.WriteByte('\n')
		}
		shown(&b, p)
	}
	b.WriteString("```\n")
	for _, p := range r.Parts() {
		explain(&b, p)
	}
	return b.String()
}

// shown writes the section with an example of each of its keys.
func shown(b *strings.Builder, p config.Part) {
	header := "[" + p.Shown() + "]"
	if p.Several {
		header = "[" + header + "]"
	}
	fmt.Fprintf(b, "%s\n%s", header, p.Example)
	if p.Example != "" {
		return
	}
	for _, k := range p.Keys {
		if !k.Apart {
			fmt.Fprintf(b, "%s = %s\n", k.Name, k.Example)
		}
	}
}

func explain(b *strings.Builder, p config.Part) {
	title := p.Path
	if p.Kind != "" {
		title += ", kind " + p.Kind
	}
	if p.Several {
		title = "[[" + title + "]]"
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", title, p.Doc)
	if p.Like != "" {
		fmt.Fprintf(b, "The keys are those of `[%s]`.\n", p.Like)
		return
	}
	b.WriteString("\n| key | takes | left out | meaning |\n|---|---|---|---|\n")
	for _, k := range schema.Flat(p.Keys) {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, takes(k), otherwise(k), cell(k.Doc))
	}
}

// takes says what a key may be.
func takes(k schema.Key) string {
	switch {
	case len(k.Words) > 0:
		words := make([]string, len(k.Words))
		for i, w := range k.Words {
			words[i] = "`" + w + "`"
		}
		return strings.Join(words, ", ")
	case k.Secret():
		return "secret: a reference, or the text itself"
	case k.Range() != "":
		return string(k.Type) + ": " + cell(k.Range())
	}
	return string(k.Type)
}

// otherwise says what holds when a key is left out.
func otherwise(k schema.Key) string {
	switch v := k.Default.(type) {
	case nil:
		return cell(k.Unset)
	case []string:
		if len(v) == 0 {
			return "none"
		}
	case string:
		return "`" + strconv.Quote(v) + "`"
	}
	return "`" + config.TOML(k.Default) + "`"
}

// cell is a text within a table of Markdown.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
