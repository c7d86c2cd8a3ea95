package email

import (
	"regexp"
	"slices"
	"strings"
)

// own is what the writer of a mail has added to it: without the history that programs put below an answer, without his signature. quotes tells that there
// are words of others among the rest, as those that he answers one by one. Nothing is taken off when there would be nothing left.
func own(text string, forwarded bool) (rest string, quotes bool) {
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
	return rest, foreign(strings.Split(rest, "\n"))
}

// marks are lines below which somebody else's mail begins.
const (
	original = `(?i)^-{2,} ?(original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale|oorspronkelijk bericht) ?-{2,}$`
	handedOn = `(?i)^(-{2,} ?(forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado) ?-{2,}|begin forwarded message:|anfang der weitergeleiteten nachricht:)$`
	fromLine = `(?i)^\*?(from|von|de|da|van):\*? `
	sentLine = `(?i)^\*?(sent|date|gesendet|datum|envoyé|enviado|fecha|inviato|verzonden):\*? `
	// one line of the head of a mail, as Outlook writes it above what is answered: who, when, to whom and about what
	headField  = `^\*?[^\s:：][^:：]{0,30}[:：]\*?[ \t\x{a0}]?\S`
	headFields = 4
)

// history is where the history of an answer begins: a line that says so, or the head of the mail that is answered, as Outlook writes it.
func history(lines []string) int {
	mark, from, sent := regexp.MustCompile(original), regexp.MustCompile(fromLine), regexp.MustCompile(sentLine)
	for i, l := range lines {
		head := from.MatchString(l) && slices.ContainsFunc(lines[i+1:min(i+4, len(lines))], sent.MatchString)
		if mark.MatchString(l) || head {
			if i > 0 && strings.Trim(lines[i-1], "_-") == "" {
				i-- // a line drawn above it
			}
			return i
		}
	}
	return len(lines)
}

// quotedTail is where the quote at the end of an answer begins, with the line that says who wrote it ("On … wrote:"). Without a quote at the end it is the end.
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
	for n := range 3 { // it may be on up to three lines, of which the first is known
		if at := end - n; at >= 0 && begins.MatchString(lines[at]) {
			return at
		}
	}
	return end
}

// signature is where the writer's signature begins ("-- ", RFC 3676, section 4.3), or what a phone puts below each mail.
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

// foreign tells whether words of others are left.
func foreign(lines []string) bool {
	mark, pass, field := regexp.MustCompile(original), regexp.MustCompile(handedOn), regexp.MustCompile(headField)
	fields, addressed := 0, false // of the head of a mail, in whatever language
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
