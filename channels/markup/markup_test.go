package markup_test

import (
	"slices"
	"strings"
	"testing"

	"hob/channels/markup"
)

const gap = "\u200b"

// One line for each construct; forms that are not listed have the result of plain text.
func TestRender(t *testing.T) {
	for _, tc := range []struct{ name, markdown, plain, telegram, slack, discord, html, irc string }{
		{
			name: "styles", markdown: "**b** *i* ~~s~~ `c`", plain: "b i s c",
			telegram: "<b>b</b> <i>i</i> <s>s</s> <code>c</code>", slack: "*b* _i_ ~s~ `c`", discord: "**b** _i_ ~~s~~ `c`",
			html: "<p><strong>b</strong> <em>i</em> <del>s</del> <code>c</code></p>", irc: "\x02b\x02 \x1di\x1d \x1es\x1e \x11c\x11",
		},
		{
			name: "nested styles", markdown: "***both***", plain: "both",
			telegram: "<b><i>both</i></b>", slack: "*_both_*", discord: "**_both_**", html: "<p><strong><em>both</em></strong></p>", irc: "\x02\x1dboth\x1d\x02",
		},
		{
			name: "bold code: telegram's code stands alone", markdown: "**`c`**", plain: "c",
			telegram: "<code>c</code>", slack: "*`c`*", discord: "**`c`**", html: "<p><strong><code>c</code></strong></p>", irc: "\x02\x11c\x11\x02",
		},
		{
			name: "half a word", markdown: "un**bold**ed", plain: "unbolded",
			telegram: "un<b>bold</b>ed", slack: "un" + gap + "*bold*" + gap + "ed", discord: "un" + gap + "**bold**" + gap + "ed",
			html: "<p>un<strong>bold</strong>ed</p>", irc: "un\x02bold\x02ed",
		},
		{
			name: "what would be read as marks", markdown: `a < b & c > d \*x\*`, plain: "a < b & c > d *x*",
			telegram: "a &lt; b &amp; c &gt; d *x*", slack: "a &lt; b &amp; c &gt; d *" + gap + "x*", discord: `a \< b & c \> d \*x\*`,
			html: "<p>a &lt; b &amp; c &gt; d *x*</p>",
		},
		{
			name: "lines are kept", markdown: "**one\ntwo**\\\nthree", plain: "one\ntwo\nthree",
			telegram: "<b>one</b>\n<b>two</b>\nthree", slack: "*one*\n*two*\nthree", discord: "**one**\n**two**\nthree",
			html: "<p><strong>one<br/>two</strong><br/>three</p>", irc: "\x02one\x02\n\x02two\x02\nthree",
		},
		{
			name: "heading", markdown: "# Big *news*\ntext", plain: "Big news\n\ntext",
			telegram: "<b>Big</b> <b><i>news</i></b>\n\ntext", slack: "*Big* *_news_*\n\ntext", discord: "**Big** **_news_**\n\ntext",
			html: "<h1>Big <em>news</em></h1><p>text</p>", irc: "\x02Big\x02 \x02\x1dnews\x1d\x02\n\ntext",
		},
		{
			name: "lists", markdown: "- a\n  - b\n- [ ] c\n- [x] d\n\nand\n\n7. x\n8. y", plain: "• a\n  • b\n☐ c\n☑ d\n\nand\n\n7. x\n8. y",
			html: `<ul><li>a<ul><li>b</li></ul></li><li>☐ c</li><li>☑ d</li></ul><p>and</p><ol start="7"><li>x</li><li>y</li></ol>`,
		},
		{
			name: "quotes in quotes", markdown: "> a\n> > b\n\nc", plain: "> a\n>\n> > b\n\nc",
			telegram: "<blockquote>a\n\n&gt; b</blockquote>\n\nc", html: "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>",
		},
		{
			name: "code block", markdown: "```go\nif a < b {\n\t`x`\n}\n```", plain: "if a < b {\n\t`x`\n}",
			telegram: "<pre><code class=\"language-go\">if a &lt; b {\n\t`x`\n}</code></pre>",
			slack:    "```\nif a &lt; b {\n\tˋxˋ\n}\n```", discord: "```go\nif a < b {\n\tˋxˋ\n}\n```",
			html: "<pre><code class=\"language-go\">if a &lt; b {\n\t`x`\n}\n</code></pre>", irc: "\x11if a < b {\x11\n\x11\t`x`\x11\n\x11}\x11",
		},
		{
			name: "table", markdown: "| n | word |\n|--:|---|\n| 1 | 日本 |\n| 10 | *x* |", plain: " n | word\n---+-----\n 1 | 日本\n10 | x",
			telegram: "<pre> n | word\n---+-----\n 1 | 日本\n10 | x</pre>", slack: "```\n n | word\n---+-----\n 1 | 日本\n10 | x\n```", discord: "```\n n | word\n---+-----\n 1 | 日本\n10 | x\n```",
			html: "<pre><code> n | word\n---+-----\n 1 | 日本\n10 | x\n</code></pre>", irc: "\x11 n | word\x11\n\x11---+-----\x11\n\x11 1 | 日本\x11\n\x1110 | x\x11",
		},
		{
			name: "table with a link", markdown: "| a | b |\n|---|---|\n| 1 | [x](https://e.org) |", plain: "a: 1\nb: x (https://e.org)",
			telegram: `<b>a</b>: 1` + "\n" + `<b>b</b>: <a href="https://e.org">x</a>`, slack: "*a*: 1\n*b*: <https://e.org|x>", discord: "**a**: 1\n**b**: [x](<https://e.org>)",
			html: `<p><strong>a</strong>: 1<br/><strong>b</strong>: <a href="https://e.org">x</a></p>`, irc: "\x02a\x02: 1\n\x02b\x02: x (https://e.org)",
		},
		{
			name: "link", markdown: `[the "docs"](https://e.org/?a=1&b=2 "title")`, plain: `the "docs" (https://e.org/?a=1&b=2)`,
			telegram: `<a href="https://e.org/?a=1&amp;b=2">the &quot;docs&quot;</a>`, slack: `<https://e.org/?a=1&amp;b=2|the "docs">`, discord: `[the "docs"](<https://e.org/?a=1&b=2>)`,
			html: `<p><a href="https://e.org/?a=1&amp;b=2">the &quot;docs&quot;</a></p>`,
		},
		{
			name: "bare address", markdown: "see https://e.org/a_b_c.", plain: "see https://e.org/a_b_c.",
			telegram: `see <a href="https://e.org/a_b_c">https://e.org/a_b_c</a>.`, slack: "see <https://e.org/a_b_c>.", discord: "see <https://e.org/a_b_c>.",
			html: `<p>see <a href="https://e.org/a_b_c">https://e.org/a_b_c</a>.</p>`,
		},
		{
			name: "a label that is another address", markdown: "[bank.example](https://evil.example/x)", plain: "bank.example (https://evil.example/x)",
			telegram: `bank.example (<a href="https://evil.example/x">https://evil.example/x</a>)`, slack: "bank.example (<https://evil.example/x>)", discord: "bank.example (<https://evil.example/x>)",
			html: `<p>bank.example (<a href="https://evil.example/x">https://evil.example/x</a>)</p>`,
		},
		{name: "user in an address", markdown: "[https://bank.example@evil.example](https://bank.example)", plain: "https://bank.example@evil.example (https://bank.example)"},
		{name: "links to elsewhere are text", markdown: "[run](javascript:alert%281%29) [file](notes/a.md)", plain: "run (javascript:alert%281%29) file (notes/a.md)"},
		{
			name: "mail", markdown: "[Sam](mailto:sam@e.org) or sam@e.org", plain: "Sam (mailto:sam@e.org) or sam@e.org",
			slack: "<mailto:sam@e.org|Sam> or <mailto:sam@e.org|sam@e.org>", discord: "Sam (mailto:sam@e.org) or sam@e.org",
		},
		{
			name: "image", markdown: "![a cat](https://e.org/c.png)", plain: "a cat (https://e.org/c.png)",
			discord: "a cat (<https://e.org/c.png>)", html: `<p>a cat (<a href="https://e.org/c.png">https://e.org/c.png</a>)</p>`,
		},
		{name: "references, used and not", markdown: "[a][1] b\n\n[1]: https://e.org\n[2]: https://f.org", plain: "a (https://e.org) b\n\n[2] https://f.org"},
		{
			name: "HTML is text", markdown: "<b>x</b>\n\n<script>\nalert(1)\n</script>", plain: "<b>x</b>\n\n<script>\nalert(1)\n</script>",
			telegram: "&lt;b&gt;x&lt;/b&gt;\n\n&lt;script&gt;\nalert(1)\n&lt;/script&gt;", html: "<p>&lt;b&gt;x&lt;/b&gt;</p><p>&lt;script&gt;<br/>alert(1)<br/>&lt;/script&gt;</p>",
		},
		{
			name: "mentions", markdown: "@everyone <!channel> <@U123> `@here`", plain: "@everyone <!channel> <@U123> @here",
			slack: "@everyone &lt;!channel&gt; &lt;@U123&gt; `@here`", discord: "@" + gap + `everyone \<!channel\> \<` + gap + `@U123\> ` + "`@" + gap + "here`",
		},
		{name: "slack's quote sign", markdown: `\> no quote`, plain: "> no quote", slack: gap + "&gt; no quote", discord: `\> no quote`},
		{name: "rule", markdown: "a\n\n---\n\nb", plain: "a\n\n———\n\nb", html: "<p>a</p><hr/><p>b</p>"},
		{name: "references to characters", markdown: `&copy; &#x41; &amp;lt; \&amp; &nosuch;`, plain: "© A &lt; &amp; &nosuch;"},
		{name: "control characters", markdown: "a\x01b\x00c\x1bd\xffe", plain: "ab\uFFFDcd\uFFFDe", irc: "ab\uFFFDcd\uFFFDe"},
		{name: "directions end with the line", markdown: "a \u202Eb\nc\u202C", plain: "a \u202Eb\u202C\nc"},
		{name: "no directions in code", markdown: "`rm \u202Ex\u2066`", plain: "rm x"},
	} {
		for _, form := range []struct {
			form markup.Form
			want string
			html bool
		}{
			{markup.Plain(), tc.plain, false},
			{markup.Signal(), tc.plain, false},
			{markup.Telegram(), tc.telegram, false},
			{markup.Slack(), tc.slack, false},
			{markup.Discord(), tc.discord, false},
			{markup.IRC(), tc.irc, false},
			{markup.Matrix(), tc.html, true},
			{markup.Mail(), tc.html, true},
		} {
			p := form.form.Render(tc.markdown)
			got := p.Text
			if form.html {
				got = p.HTML
			}
			if form.want != "" && got != form.want {
				t.Errorf("%s, %s:\n got %q\nwant %q", tc.name, form.form.Name, got, form.want)
			}
		}
	}
}

func TestSignalStyles(t *testing.T) {
	p := markup.Signal().Render("😀 **bold *both*** ~~s~~\n\n```\nx\ny\n```")
	want := []markup.Style{
		{Start: 3, Length: 4, Name: "BOLD"},
		{Start: 8, Length: 4, Name: "BOLD"},
		{Start: 8, Length: 4, Name: "ITALIC"},
		{Start: 13, Length: 1, Name: "STRIKETHROUGH"},
		{Start: 16, Length: 1, Name: "MONOSPACE"},
		{Start: 18, Length: 1, Name: "MONOSPACE"},
	}
	if p.Text != "😀 bold both s\n\nx\ny" || !slices.Equal(p.Styles, want) {
		t.Errorf("text %q, styles %v, want %v", p.Text, p.Styles, want)
	}
}

func TestSize(t *testing.T) {
	for _, tc := range []struct {
		form  markup.Form
		piece markup.Piece
		want  int
	}{
		{markup.Telegram(), markup.Piece{Text: `<a href="https://e.org">a&amp;😀</a>`}, 4}, // the emoji is two units
		{markup.Slack(), markup.Piece{Text: "ä😀"}, 3},
		{markup.Discord(), markup.Piece{Text: "ä😀"}, 2},
		{markup.Signal(), markup.Piece{Text: "ä😀"}, 6},
		{markup.IRC(), markup.Piece{Text: "ä😀\n\n" + strings.Repeat("ä", 20)}, 6 + 2 + 40 + 24},
		{markup.Mail(), markup.Piece{Text: "ä", HTML: "<p>ä</p>"}, 2},
		{markup.Matrix(), markup.Piece{Text: "a\n\"", HTML: "<"}, len(`"a\n\""`) + len(`"\u003c"`)},
	} {
		if got := tc.form.Size(tc.piece); got != tc.want {
			t.Errorf("%s: size of %q is %d, want %d", tc.form.Name, tc.piece.Text, got, tc.want)
		}
	}
}

func TestSplit(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 40)) // 199
	for _, tc := range []struct {
		name, markdown string
		want           []string
	}{
		{"nothing", " \n\n", nil},
		{"fits", "a **b", []string{"a **b"}},
		{"between blocks", long + "\n\n" + long, []string{long, long}},
		{"a heading stays with its text", long + "\n\n# Next\n\n" + long, []string{long, "# Next\n\n" + long}},
		{"between lines", long + "\nx\n" + long, []string{long + "\nx", long}},
		{"marks are closed and opened", "**" + long + " " + long + "**", []string{
			"**" + strings.TrimSpace(strings.Repeat("word ", 51)) + "**", "**" + strings.TrimSpace(strings.Repeat("word ", 29)) + "**",
		}},
		{"a fence is closed and opened", "```go\n" + strings.Repeat("line of code\n", 30) + "```", []string{
			"```go\n" + strings.Repeat("line of code\n", 19) + "```", "```go\n" + strings.Repeat("line of code\n", 11) + "```",
		}},
		{"numbers go on", "3. " + long + "\n4. " + long + "\n5. end", []string{"3. " + long, "4. " + long + "\n5. end"}},
		{"an item that is cut", "1. " + long + "\n   " + long + "\n2. end", []string{"1. " + long, long + "\n\n2. end"}},
		{"a quote is opened again", "> " + long + "\n>\n> " + long, []string{"> " + long, "> " + long}},
		{"no emoji is torn", strings.Repeat("👩‍👩‍👧‍👦", 12), []string{strings.Repeat("👩‍👩‍👧‍👦", 10), strings.Repeat("👩‍👩‍👧‍👦", 2)}}, // 25 bytes each
		{"a link stays whole", strings.Repeat("x", 250) + "[a b](https://e.org/1)", []string{strings.Repeat("x", 250), "[a b](<https://e.org/1>)"}},
		{"directions", "\u202E" + long + " " + long + "\u202C", []string{
			"\u202E" + strings.TrimSpace(strings.Repeat("word ", 50)) + " \u202C", "\u202E" + strings.TrimSpace(strings.Repeat("word ", 30)) + "\u202C",
		}},
	} {
		f := markup.Plain()
		f.Limit = 256
		if got := f.Split(tc.markdown); !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func TestLimits(t *testing.T) {
	for name, limit := range map[string]int{"telegram": 4096, "slack": 4000, "discord": 2000, "signal": 2000, "matrix": 48_000, "mail": 0, "irc": 400, "plain": 0} {
		i := slices.IndexFunc(forms(), func(f markup.Form) bool { return f.Name == name })
		if i < 0 || forms()[i].Limit != limit {
			t.Errorf("%s: no form of that name with limit %d", name, limit)
		}
	}
}

func TestMailLinesAreShort(t *testing.T) {
	for name, line := range map[string]string{"words": strings.Repeat("word ", 500), "one word": strings.Repeat("ä", 2500)} {
		p := markup.Mail().Render(line)
		for got := range strings.Lines(p.Text) {
			if len(got) > 999 {
				t.Errorf("%s: a line has %d bytes", name, len(got))
			}
		}
		if said(p.Text) != said(line) {
			t.Errorf("%s: words are lost", name)
		}
	}
}

func TestCluster(t *testing.T) {
	for _, s := range []string{
		"a", "e\u0301", "👍🏽", "👩‍👩‍👧‍👦", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️", "1️⃣", "각", "\u1100\u1161\u11A8", "नि", "\r\n", "🏳️‍🌈", "\uFFFD",
	} {
		for _, next := range []string{"", "a", "🇫🇷"} {
			if next == "🇫🇷" && s == "" {
				continue
			}
			if got := markup.Cluster(s + next); got != len(s) {
				t.Errorf("cluster of %q before %q has %d bytes, want %d", s, next, got, len(s))
			}
		}
	}
	if got := markup.Cluster("a" + strings.Repeat("\u0301", 1000)); got != 1+31*2 {
		t.Errorf("a pile of marks is cut at %d bytes", got)
	}
}

// Texts for which plain marks would not work are the same after they are written again.
func TestRewrittenMarks(t *testing.T) {
	for _, tc := range []struct{ markdown, want string }{
		{"_a_&#98;", "<p><em>a</em>b</p>"},                               // a letter behind a mark that ends only at a word's end
		{"- a\n  <div>", "<ul><li><p>a</p><p>&lt;div&gt;</p></li></ul>"}, // two paragraphs, with no blank line between them
		{strings.Repeat("> ", 9) + "x", strings.Repeat("<blockquote>", 8) + "<p>&gt; x</p>" + strings.Repeat("</blockquote>", 8)},
	} {
		for _, text := range []string{tc.markdown, markup.Rewrite(tc.markdown)} {
			if got := markup.Matrix().Render(text).HTML; got != tc.want {
				t.Errorf("%q of %q:\n got %s\nwant %s", text, tc.markdown, got, tc.want)
			}
		}
	}
}
