// Package markup turns the one Markdown that a model writes into what each chat platform shows, and cuts it to the
// platform's size. It knows texts only: it sends nothing, and no address is ever looked up.
//
// Markdown is CommonMark 0.31 with GitHub's tables, task lists, strikethrough and bare addresses, but for three things: a single
// newline is a line break, because in chats it is meant; raw HTML is text; and a link leads to http, https, mailto or
// tel, or it is text too. Reading is bounded: quotes and lists nest at most eight deep, what goes deeper is text.
package markup

import (
	"strings"
	"unicode/utf8"
)

// Form is how one platform writes text. The zero Form is not usable: take one of the functions below.
type Form struct {
	// Name is the platform's, in lower case.
	Name string
	// Limit is the size of the largest message in the platform's units (see Size), 0 for none.
	// An adapter may set another one; what is over 0 and under 256 counts as 256.
	Limit int

	render func(doc) Piece
	size   func(Piece) int
}

// Piece is the text of one message.
type Piece struct {
	// Text is what is sent; for Telegram it is HTML (parse mode "HTML"), for Slack mrkdwn, for Discord its Markdown.
	Text string
	// HTML is the same for platforms that take both, Matrix and mail; else it is empty.
	HTML string
	// Styles are Signal's ranges over Text, in the order of their starts; else there are none.
	Styles []Style
}

// Style is a range of a text that is shown in one way.
type Style struct {
	// Start and Length are in UTF-16 code units.
	Start, Length int
	// Name is BOLD, ITALIC, STRIKETHROUGH or MONOSPACE, as in Signal's BodyRange.
	Name string
}

// Telegram is HTML as the Bot API's "Formatting options" say it: 4,096 UTF-16 units, counted after the tags are read.
// Previews are off where the sender sets link_preview_options.is_disabled.
func Telegram() Form {
	return Form{Name: "telegram", Limit: 4096, render: only(telegram()), size: func(p Piece) int { return shownUnits(p.Text) }}
}

// Slack is mrkdwn: Slack asks for at most 4,000 characters and cuts at 40,000. What a character is it does not say:
// UTF-16 units count the most. Previews are off where the sender sets unfurl_links and unfurl_media to false.
func Slack() Form {
	return Form{Name: "slack", Limit: 4000, render: only(slack()), size: func(p Piece) int { return units(p.Text) }}
}

// Discord is its own Markdown: 2,000 characters. Addresses stand in angle brackets, which keeps previews off.
// Mentions are broken in the text; the sender also sets allowed_mentions to none.
func Discord() Form {
	return Form{Name: "discord", Limit: 2000, render: only(discord()), size: func(p Piece) int { return utf8.RuneCountInString(p.Text) }}
}

// Signal is plain text with style ranges. Its clients drop a message with a body of over 2 KiB of UTF-8.
func Signal() Form {
	return Form{Name: "signal", Limit: 2000, render: only(signal()), size: textBytes}
}

// Matrix is plain text for body and the tags of org.matrix.custom.html for formatted_body
// (client-server specification, m.room.message). An event has at most 65,536 bytes with all that stands around;
// both texts are counted as JSON writes them.
func Matrix() Form {
	return Form{Name: "matrix", Limit: 48_000, render: both, size: func(p Piece) int { return jsonBytes(p.Text) + jsonBytes(p.HTML) }}
}

// Mail is a text part and an HTML part, which loads nothing. No line of the text part is over 998 bytes (RFC 5322, section 2.1.1);
// those of the HTML part are the transfer encoding's business.
func Mail() Form {
	return Form{Name: "mail", render: mail, size: textBytes}
}

// IRC is plain text with formatting codes that end with each line. Each line of a piece is one message to send:
// a piece has at most 400 bytes, so that no line of it is longer than a message's 512 with what stands around it (RFC 2812, section 2.3).
// Each line but the first costs 24 bytes more: servers take one every two seconds only, and a piece of many short ones would take minutes.
func IRC() Form {
	return Form{Name: "irc", Limit: 400, render: only(irc()), size: lineBytes}
}

// Plain is text without any marks, counted in bytes of UTF-8, without a limit of its own.
func Plain() Form {
	return Form{Name: "plain", render: only(plain()), size: textBytes}
}

// Render is Markdown in the platform's form. It never fails: what the platform cannot show becomes the nearest that it can.
func (f Form) Render(markdown string) Piece { return f.render(read(markdown)) }

// Size is how large the platform counts a piece; Limit is in the same units.
func (f Form) Size(p Piece) int { return f.size(p) }

// Split cuts Markdown into parts that are each whole Markdown: what was open at a cut is closed and opened again, a list goes on with
// its next number, and the rest of a list item that is cut stands without a marker. Rendered, each part is within the limit.
// Cuts fall between blocks where they can, else between lines, else between words, else between characters as people see them.
// The words of all parts are the words of the whole. A text that fits is its only part, unchanged; one that shows nothing has none.
func (f Form) Split(markdown string) []string {
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

// Closed is Markdown that says the same with everything closed that was open at its end, as a fence is in a text that is still being written:
// what is put behind it as a paragraph stands outside.
func Closed(markdown string) string { return write(read(markdown)) }

// smallest is the least limit: room for one character with the deepest nesting around it.
const smallest = 256

func (f Form) fits(d doc) bool { return f.size(f.render(d)) <= max(f.Limit, smallest) }

// only makes the renderer of a platform that takes one text.
func only(l dialect) func(doc) Piece {
	return func(d doc) Piece { return l.piece(d) }
}

func both(d doc) Piece {
	return Piece{Text: plain().piece(d).Text, HTML: pageOf(d)}
}

func mail(d doc) Piece {
	p := both(d)
	p.Text = fold(p.Text, 998)
	return p
}

// fold breaks lines of over limit bytes, between words where it can and never inside a character.
func fold(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		for len(strings.TrimSuffix(line, "\n")) > limit {
			cut := 0
			for cut < limit {
				n := cluster(line[cut:])
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
