package markup_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"

	"hob/channels/markup"
)

// BenchmarkMarkup renders and splits answers of 4 KB and 1 MB; the baseline is goldmark's own conversion.
func BenchmarkMarkup(b *testing.B) {
	answer := "## Heading\n\nSome **bold** words and a [link](https://example.org/a), then `code`.\n\n1. first\n2. second with *more*\n   - inner\n\n```go\nfunc main() {}\n```\n\n> quoted\n\n"
	for _, size := range []struct {
		name  string
		bytes int
	}{{"4KB", 4 << 10}, {"1MB", 1 << 20}} {
		text := strings.Repeat(answer, size.bytes/len(answer)+1)
		run := func(name string, f func()) {
			b.Run(size.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					f()
				}
			})
		}
		run("render", func() { markup.Telegram().Render(text) })
		run("split", func() { markup.Discord().Split(text) })
		run("goldmark", func() {
			var out bytes.Buffer
			if err := goldmark.Convert([]byte(text), &out); err != nil {
				b.Fatal(err)
			}
		})
	}
}
