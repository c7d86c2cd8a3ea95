// Package markup converts the Markdown that a model writes to the format of each chat platform, and splits it
// into messages of the platform's size. It works on texts only: it sends nothing, and follows no link.
//
// A text is parsed once (read) into blocks and runs. Render writes them in a platform's dialect; Split cuts
// them and writes each part as Markdown again (write), so that a part can be stored and rendered later.
//
// Markdown is CommonMark 0.31 with GitHub's tables, task lists, strikethrough and bare addresses, with three
// differences. A single newline is a line break, because that is how people write in chats. Raw HTML is text.
// A link leads to http, https, mailto or tel; otherwise it is text. Parsing is bounded: quotes and lists nest
// at most eight deep; deeper ones are text.
package markup

import (
	"strings"
	"unicode/utf8"
)

// Form is the text format of one platform. The zero Form is not usable: use one of the functions below.
type Form struct {
	// Name is the platform's name in lower case.
	Name string
	// Limit is the size of the largest message in the platform's units (see Size), 0 for none. An adapter may
	// change it; a limit above 0 and below 256 counts as 256.
	Limit int

	parse  func(string) doc // nil: read
	render func(doc) Piece
	size   func(Piece) int
}

// Piece is the text of one message.
type Piece struct {
	// Text is the message: HTML for Telegram (parse mode "HTML"), mrkdwn for Slack, Discord's Markdown for
	// Discord.
	Text string
	// HTML is the same text for platforms that take both, Matrix and mail; otherwise it is empty.
	HTML string
	// Styles are Signal's ranges in Text, ordered by their starts; otherwise there are none.
	Styles []Style
}

// Style is a range of a text with one style.
type Style struct {
	// Start and Length are in UTF-16 code units.
	Start, Length int
	// Name is BOLD, ITALIC, STRIKETHROUGH or MONOSPACE, as in Signal's BodyRange.
	Name string
}

// Telegram is HTML according to the Bot API's "Formatting options": 4,096 UTF-16 units after the tags are
// parsed. The sender switches link previews off (link_preview_options.is_disabled).
func Telegram() Form {
	return Form{Name: "telegram", Limit: 4096, render: only(telegram()), size: func(p Piece) int { return shownUnits(p.Text) }}
}

// Slack is mrkdwn. Slack recommends at most 4,000 characters and cuts at 40,000. It does not define a
// character; UTF-16 units are the safe count. The sender switches previews off (unfurl_links, unfurl_media).
func Slack() Form {
	return Form{Name: "slack", Limit: 4000, render: only(slack()), size: func(p Piece) int { return units(p.Text) }}
}

// Discord is Discord's Markdown: 2,000 characters. Addresses are in angle brackets, which suppresses
// previews. Mentions are broken in the text; the sender also sets allowed_mentions to none.
func Discord() Form {
	return Form{Name: "discord", Limit: 2000, render: only(discord()), size: func(p Piece) int { return utf8.RuneCountInString(p.Text) }}
}

// Signal is plain text with style ranges. Its clients drop messages with more than 2 KiB of UTF-8.
func Signal() Form {
	return Form{Name: "signal", Limit: 2000, render: only(signal()), size: textBytes}
}

// Matrix is plain text for body and the tags of org.matrix.custom.html for formatted_body (Client-Server API,
// m.room.message). An event has at most 65,536 bytes in total; both texts are counted in their JSON form.
func Matrix() Form {
	return Form{Name: "matrix", Limit: 48_000, render: both, size: func(p Piece) int { return jsonBytes(p.Text) + jsonBytes(p.HTML) }}
}

// Mail is a text part and an HTML part that loads nothing. Lines of the text part have at most 998 bytes (RFC
// 5322, section 2.1.1); the transfer encoding breaks those of the HTML part.
func Mail() Form {
	return Form{Name: "mail", render: mail, size: textBytes}
}

// IRC is plain text with formatting codes that end with each line. Each line of a piece is a separate
// message. A piece has at most 400 bytes, so that no line exceeds the 512 bytes of a message with its prefix
// (RFC 2812, section 2.3). Each line but the first costs 24 bytes more: servers accept about one line every
// two seconds, so many short lines would take minutes.
func IRC() Form {
	return Form{Name: "irc", Limit: 400, render: only(irc()), size: lineBytes}
}

// Plain is text without markup, counted in bytes of UTF-8, without a limit.
func Plain() Form {
	return Form{Name: "plain", render: only(plain()), size: textBytes}
}

// Render converts Markdown to the platform's format. It never fails: what the platform cannot show becomes
// the closest thing that it can.
func (f Form) Render(markdown string) Piece {
	if f.parse != nil {
		return f.render(f.parse(markdown))
	}
	return f.render(read(markdown))
}

// Size returns the size of a piece in the units of Limit.
func (f Form) Size(p Piece) int { return f.size(p) }

// Split cuts Markdown into parts that are complete Markdown: an open construct is closed at a cut and opened
// again, a list continues with its next number, and the rest of a cut list item has no marker. Each rendered
// part is within the limit.
//
// Cuts are between blocks if possible, then between lines, then between words, then between visible
// characters. The parts together have all words of the text. A text that fits is the only part, unchanged; a
// text that shows nothing has no parts.
func (f Form) Split(markdown string) []string {
	// The text is parsed once; all cuts are made in the parsed form.
	rest := read(markdown)
	if len(rest) == 0 {
		return nil
	}
	if f.Limit <= 0 || f.fits(rest) {
		return []string{markdown}
	}
	var parts []string
	for len(rest) > 0 {
		var head doc
		head, rest = f.take(rest)
		if len(head) > 0 {
			parts = append(parts, write(head))
		}
	}
	return parts
}

// Closed returns Markdown with the same meaning in which everything is closed, such as the fence of a text
// that is still being written. A paragraph after it is outside of all constructs.
func Closed(markdown string) string { return write(read(markdown)) }

// smallest is the smallest limit: one character with the deepest nesting around it must fit.
const smallest = 256

// fits reports whether a text fits into one message, by rendering it: escapes and tags count.
func (f Form) fits(d doc) bool { return f.size(f.render(d)) <= max(f.Limit, smallest) }

// only makes the renderer of a platform that takes one text.
func only(l dialect) func(doc) Piece {
	return func(d doc) Piece { return l.piece(d) }
}

// both renders plain text and HTML.
func both(d doc) Piece {
	return Piece{Text: plain().piece(d).Text, HTML: pageOf(d)}
}

// mail renders both, with short lines in the plain text.
func mail(d doc) Piece {
	p := both(d)
	p.Text = fold(p.Text, 998)
	return p
}

// fold breaks lines of more than limit bytes, between words if possible and never inside a character.
func fold(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		for len(strings.TrimSuffix(line, "\n")) > limit {
			cut := 0
			for cut < limit {
				n := Cluster(line[cut:])
				if cut+n > limit {
					break
				}
				cut += n
			}
			if space := strings.LastIndexByte(line[:cut], ' '); space > limit/4 {
				cut = space + 1
			}
			b.WriteString(strings.TrimRight(line[:cut], " ") + "\n")
			line = line[cut:]
		}
		b.WriteString(line)
	}
	return b.String()
}
