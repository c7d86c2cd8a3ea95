package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is an invisible space. It prevents the platform from reading a character as a mark, or a name as a
// mention.
const gap = "\u200B"

var (
	// Escapes. A replacement with gap keeps the visible text.
	htmlEscapes  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	targets      = strings.NewReplacer("<@", "<"+gap+"@", "<#", "<"+gap+"#")
	calls        = strings.NewReplacer("@everyone", "@"+gap+"everyone", "@here", "@"+gap+"here")
	inAddress    = strings.NewReplacer("@everyone", "%40everyone", "@here", "%40here")
)

// plain is text without marks. It is the base of the dialects whose styles are beside the text.
func plain() dialect {
	return dialect{text: as, code: as, link: withAddress, quote: "> "}
}

// as returns the text unchanged.
func as(words string) string { return words }

// withAddress writes a link on a platform without links: the address follows the text, unless the text already
// shows it.
func withAddress(label, target string) string {
	if showsAddress(run{text: label, url: target}) {
		return label
	}
	return label + " (" + target + ")"
}

// telegram is the HTML of the Bot API ("HTML style").
func telegram() dialect {
	return dialect{
		marks: map[style][2]string{strike: {"<s>", "</s>"}, bold: {"<b>", "</b>"}, italic: {"<i>", "</i>"}, mono: {"<code>", "</code>"}},
		text:  inHTML, code: inHTML,
		link:   func(label, target string) string { return `<a href="` + inHTML(target) + `">` + label + "</a>" },
		block:  pre,
		quote:  "&gt; ",
		around: [2]string{"<blockquote>", "</blockquote>"}, // these do not nest
		only: func(s style) style { // code cannot be combined with other styles
			if s&mono != 0 {
				return mono
			}
			return s
		},
	}
}

// pre is a code block in Telegram's HTML, with its language for highlighting.
func pre(lang, escaped string) string {
	if lang == "" {
		return "<pre>" + escaped + "</pre>"
	}
	return `<pre><code class="language-` + lang + `">` + escaped + "</code></pre>"
}

// inHTML escapes text for HTML, including attributes.
func inHTML(words string) string {
	return htmlEscapes.Replace(words)
}

// slack is mrkdwn ("Formatting text"). A backtick cannot be escaped in code, so it becomes a similar
// character.
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

// slackEscaped escapes the characters with which mrkdwn begins links and mentions ("Escaping text").
func slackEscaped(words string) string {
	return slackEscapes.Replace(words)
}

// slackWords also prevents marks from taking effect. mrkdwn has no escapes, but a mark before white space
// opens nothing.
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

// discord is Discord's Markdown. A link to anything but the web is not clickable there, so it is text.
func discord() dialect {
	return dialect{
		marks: map[style][2]string{strike: {"~~", "~~"}, bold: {"**", "**"}, italic: {"_", "_"}, mono: {"`", "`"}},
		text:  discordWords,
		code:  func(words string) string { return harmless(strings.ReplaceAll(words, "`", "\u02CB")) },
		link: func(label, target string) string {
			if !strings.HasPrefix(target, "http") {
				return withAddress(label, target)
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

// discordWords puts a backslash before each mark.
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

// harmless breaks mentions, so that nobody is notified.
func harmless(text string) string {
	return calls.Replace(targets.Replace(text))
}

// signal is plain text; the names of its ranges are those of signal-cli's textStyle.
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

// irc uses the codes that clients share (modern.ircdocs.horse, "Formatting"): each code toggles its style.
func irc() dialect {
	d := plain()
	d.marks = map[style][2]string{strike: {"\x1e", "\x1e"}, bold: {"\x02", "\x02"}, italic: {"\x1d", "\x1d"}, mono: {"\x11", "\x11"}}
	return d
}
