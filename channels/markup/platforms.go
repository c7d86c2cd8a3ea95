package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is a space that nobody sees: it stands where a mark of the platform's would be read as such, or a mention would call people.
const gap = "\u200B"

var (
	htmlEscapes  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	targets      = strings.NewReplacer("<@", "<"+gap+"@", "<#", "<"+gap+"#")
	calls        = strings.NewReplacer("@everyone", "@"+gap+"everyone", "@here", "@"+gap+"here")
	inAddress    = strings.NewReplacer("@everyone", "%40everyone", "@here", "%40here")
)

func plain() dialect {
	return dialect{text: as, code: as, link: beside, quote: "> "}
}

func as(words string) string { return words }

// beside is a link on a platform without: the address stands behind the words, if they do not say it.
func beside(label, target string) string {
	if tells(run{text: label, url: target}) {
		return label
	}
	return label + " (" + target + ")"
}

func telegram() dialect {
	return dialect{
		marks: map[style][2]string{strike: {"<s>", "</s>"}, bold: {"<b>", "</b>"}, italic: {"<i>", "</i>"}, mono: {"<code>", "</code>"}},
		text:  inHTML, code: inHTML,
		link:   func(label, target string) string { return `<a href="` + inHTML(target) + `">` + label + "</a>" },
		block:  pre,
		quote:  "&gt; ",
		around: [2]string{"<blockquote>", "</blockquote>"}, // which do not nest
		only: func(s style) style { // code stands with no other
			if s&mono != 0 {
				return mono
			}
			return s
		},
	}
}

func pre(lang, escaped string) string {
	if lang == "" {
		return "<pre>" + escaped + "</pre>"
	}
	return `<pre><code class="language-` + lang + `">` + escaped + "</code></pre>"
}

// inHTML is words inside of HTML, in attributes too.
func inHTML(words string) string {
	return htmlEscapes.Replace(words)
}

func slack() dialect {
	return dialect{
		marks: map[style][2]string{strike: {"~", "~"}, bold: {"*", "*"}, italic: {"_", "_"}, mono: {"`", "`"}},
		text:  slackWords,
		code:  func(words string) string { return slackEscaped(strings.ReplaceAll(words, "`", "\u02CB")) },
		link: func(label, target string) string {
			if label == slackEscaped(target) {
				return "<" + slackEscaped(target) + ">"
			}
			return "<" + slackEscaped(target) + "|" + label + ">"
		},
		block: func(_, escaped string) string { return "```\n" + escaped + "\n```" },
		quote: "> ",
		seam:  gap,
	}
}

// slackEscaped is words without the characters that mrkdwn reads as commands: links, people, channels, everybody.
func slackEscaped(words string) string {
	return slackEscapes.Replace(words)
}

// slackWords also keeps marks from being read as such: mrkdwn has no escapes, but a mark before white space opens nothing.
func slackWords(words string) string {
	var b strings.Builder
	before := ' '
	for i, c := range words {
		if c == '>' && i == 0 {
			b.WriteString(gap)
		}
		b.WriteString(slackEscaped(string(c)))
		next, _ := utf8.DecodeRuneInString(words[i+utf8.RuneLen(c):])
		opening := strings.ContainsRune("*_~", c) && !unicode.IsLetter(before) && !unicode.IsDigit(before) && !unicode.IsSpace(next)
		if opening || c == '`' {
			b.WriteString(gap)
		}
		before = c
	}
	return b.String()
}

func discord() dialect {
	return dialect{
		marks: map[style][2]string{strike: {"~~", "~~"}, bold: {"**", "**"}, italic: {"_", "_"}, mono: {"`", "`"}},
		text:  discordWords,
		code:  func(words string) string { return harmless(strings.ReplaceAll(words, "`", "\u02CB")) },
		link: func(label, target string) string {
			if !strings.HasPrefix(target, "http") {
				return beside(label, target)
			}
			same := label == discordWords(target)
			if target = inAddress.Replace(target); same {
				return "<" + target + ">"
			}
			return "[" + label + "](<" + target + ">)"
		},
		block: func(lang, escaped string) string { return "```" + lang + "\n" + escaped + "\n```" },
		quote: "> ",
		seam:  gap,
	}
}

// discordWords is words with a backslash before each mark.
func discordWords(words string) string {
	var b strings.Builder
	for i, c := range words {
		if strings.ContainsRune("\\*_~`|[]<>#", c) || i == 0 && c == '-' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return harmless(b.String())
}

// harmless is a text whose mentions call nobody.
func harmless(text string) string {
	return calls.Replace(targets.Replace(text))
}

func signal() dialect {
	d := plain()
	d.named = func(s style) string {
		switch s {
		case strike:
			return "STRIKETHROUGH"
		case bold:
			return "BOLD"
		case italic:
			return "ITALIC"
		}
		return "MONOSPACE"
	}
	return d
}

// irc marks with the codes that clients share (modern.ircdocs.horse, Formatting): each is a switch.
func irc() dialect {
	d := plain()
	d.marks = map[style][2]string{strike: {"\x1e", "\x1e"}, bold: {"\x02", "\x02"}, italic: {"\x1d", "\x1d"}, mono: {"\x11", "\x11"}}
	return d
}
