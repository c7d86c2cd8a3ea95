package main

import (
	_ "embed" // the page's beginning
	"fmt"
	"strconv"
	"strings"

	"hob/config"
	"hob/config/schema"
)

//go:embed config_page.md
var configPageHead string

// configPage makes the reference docs/config.md from the descriptions of the keys. The head of the page is
// written by hand in config_page.md; everything below it comes from the reference, in the order of its parts.
func configPage(r config.Reference) string {
	var b strings.Builder
	b.WriteString(configPageHead)
	b.WriteString("\n```toml\n")
	for i, p := range r.Parts() {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeExample(&b, p)
	}
	b.WriteString("```\n")
	for _, p := range r.Parts() {
		writeKeyTable(&b, p)
	}
	return b.String()
}

// writeExample writes a section with an example of each of its keys.
func writeExample(b *strings.Builder, p config.Part) {
	// An array of tables has double brackets in TOML.
	header := "[" + p.Shown() + "]"
	if p.Several {
		header = "[" + header + "]"
	}
	// An example that was written by hand replaces the generated one.
	fmt.Fprintf(b, "%s\n%s", header, p.Example)
	if p.Example != "" {
		return
	}
	for _, k := range p.Keys {
		// Keys that exclude others are left out of the example, so that it is valid as it is.
		if !k.Apart {
			fmt.Fprintf(b, "%s = %s\n", k.Name, k.Example)
		}
	}
}

// writeKeyTable writes the heading, the description and the table of keys of one section.
func writeKeyTable(b *strings.Builder, p config.Part) {
	title := p.Path
	if p.Kind != "" {
		title += ", kind " + p.Kind
	}
	if p.Several {
		title = "[[" + title + "]]"
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", title, p.Doc)
	// A section with the keys of another one refers to that instead of repeating the table.
	if p.Like != "" {
		fmt.Fprintf(b, "The keys are those of `[%s]`.\n", p.Like)
		return
	}
	b.WriteString("\n| key | takes | left out | meaning |\n|---|---|---|---|\n")
	for _, k := range schema.Flat(p.Keys) {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, keyTakes(k), keyDefault(k), markdownCell(k.Doc))
	}
}

// keyTakes describes the values of a key.
func keyTakes(k schema.Key) string {
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
		return string(k.Type) + ": " + markdownCell(k.Range())
	}
	return string(k.Type)
}

// keyDefault describes what applies if a key is left out.
func keyDefault(k schema.Key) string {
	switch v := k.Default.(type) {
	// There is no default value. Unset says in words what happens.
	case nil:
		return markdownCell(k.Unset)
	case []string:
		if len(v) == 0 {
			return "none"
		}
	case string:
		return "`" + strconv.Quote(v) + "`"
	}
	return "`" + config.TOML(k.Default) + "`"
}

// markdownCell escapes a text for a cell of a Markdown table.
func markdownCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
