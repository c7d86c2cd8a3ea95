package mail

import (
	"regexp"
	"slices"
	"strings"
)

// OwnText returns what the author of a mail wrote: without the quoted history below an answer, and without the
// signature. quotes reports that somebody else's words remain, for example quotes between the answers. If
// nothing would remain, nothing is removed.
func OwnText(text string, forwarded bool) (rest string, quotes bool) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r\u00A0")
	}
	keep := lines
	if !forwarded {
		keep = lines[:history(lines)]
		keep = keep[:quotedTail(keep)]
		keep = keep[:signature(keep)]
	}
	rest = strings.TrimSpace(strings.Join(keep, "\n"))
	if rest == "" {
		rest = strings.Join(lines, "\n")
	}
	return rest, hasForeign(strings.Split(rest, "\n"))
}

// Lines after which somebody else's mail begins, in several languages.
const (
	original = `(?i)^-{2,} ?(original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale|oorspronkelijk bericht) ?-{2,}$`
	handedOn = `(?i)^(-{2,} ?(forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado) ?-{2,}|begin forwarded message:|anfang der weitergeleiteten nachricht:)$`
	fromLine = `(?i)^\*?(from|von|de|da|van):\*? `
	sentLine = `(?i)^\*?(sent|date|gesendet|datum|envoyé|enviado|fecha|inviato|verzonden):\*? `
	// One line of the header that Outlook writes above the answered mail: author, date, recipients and
	// subject.
	headField  = `^\*?[^\s:：][^:：]{0,30}[:：]\*?[ \t\x{a0}]?\S`
	headFields = 4
)

// history returns the line where the history of an answer begins: a separator line, or the header of the
// answered mail that Outlook writes.
func history(lines []string) int {
	mark, from, sent := regexp.MustCompile(original), regexp.MustCompile(fromLine), regexp.MustCompile(sentLine)
	for i, l := range lines {
		// The date must follow soon, or the line is ordinary text.
		head := from.MatchString(l) && slices.ContainsFunc(lines[i+1:min(i+4, len(lines))], sent.MatchString)
		if mark.MatchString(l) || head {
			if i > 0 && strings.Trim(lines[i-1], "_-") == "" {
				i-- // a rule above it
			}
			return i
		}
	}
	return len(lines)
}

// quotedTail returns the line where the quote at the end of an answer begins, including the line "On …
// wrote:" above it. Without such a quote it returns the number of lines.
func quotedTail(lines []string) int {
	end, quoted := len(lines), false
	for end > 0 && (lines[end-1] == "" || strings.HasPrefix(lines[end-1], ">")) {
		end--
		quoted = quoted || lines[end] != ""
	}
	if !quoted {
		return len(lines)
	}
	if end == 0 || !strings.HasSuffix(lines[end-1], ":") {
		return end
	}
	end--
	begins := regexp.MustCompile(`(?i)^(on|am|le|el|il|op|den|em) `)
	for n := range 3 { // it may take up to three lines, of which the first is recognised
		if at := end - n; at >= 0 && begins.MatchString(lines[at]) {
			return at
		}
	}
	return end
}

// signature returns the line where the signature begins ("-- ", RFC 3676, section 4.3), or the note that
// phones append.
func signature(lines []string) int {
	end := len(lines)
	for i := max(0, end-12); i < end; i++ {
		if lines[i] == "--" {
			return i
		}
	}
	for end > 0 && lines[end-1] == "" {
		end--
	}
	device := regexp.MustCompile(`(?i)^(sent from (my|mail|outlook|yahoo|proton)|get outlook for|von meinem \S+ gesendet|gesendet (von|mit)|envoyé (de|à partir)|enviado desde|inviato da)`)
	if end > 0 && device.MatchString(lines[end-1]) {
		return end - 1
	}
	return len(lines)
}

// hasForeign reports whether somebody else's words remain.
func hasForeign(lines []string) bool {
	mark, pass, field := regexp.MustCompile(original), regexp.MustCompile(handedOn), regexp.MustCompile(headField)
	fields, addressed := 0, false // consecutive header lines of a mail, in any language
	for _, l := range lines {
		if strings.HasPrefix(l, ">") || mark.MatchString(l) || pass.MatchString(l) {
			return true
		}
		if !field.MatchString(l) {
			fields, addressed = 0, false
			continue
		}
		fields, addressed = fields+1, addressed || strings.Contains(l, "@")
		if fields >= headFields && addressed {
			return true
		}
	}
	return history(lines) < len(lines)
}
