package builtin

import (
	"slices"
	"strings"
	"unicode"
)

// courteous returns the request in a text without the words of politeness around it: "hey hob, could you remind me …, please?". The end of a
// text that is passed on as it is ("run …", "say …", "TIME: PROMPT") stays, except after a question.
func courteous(text string) string {
	text, asked := front(text)
	word, _, _ := strings.Cut(text, " ")
	verbatim := slices.Contains([]string{"run", "say", "say:", "write", "send"}, strings.ToLower(word)) || strings.Contains(text, ": ")
	if verbatim && !asked {
		return text
	}
	if asked {
		text = strings.TrimRight(text, "? ")
	}
	return back(text)
}

// front removes polite words from the beginning. asked reports that they made a question of the request ("could you").
func front(text string) (rest string, asked bool) {
	for again := true; again; {
		again = false
		for words := range strings.SplitSeq("can you|could you|would you|will you|can u|could u|can i|could i|may i", "|") {
			if rest, ok := lead(text, words); ok && rest != "" {
				text, again, asked = rest, true, true
			}
		}
		for words := range strings.SplitSeq("please|pls|plz|kindly|hob|hey|hi|hello|good morning|good afternoon|good evening|ok|okay|so|well|also|just|thanks|thank you|thx|great|perfect|sorry|oh|and|then|now|never mind|nevermind|i want you to|"+
			"i need you to|i'd like you to|i’d like you to|i would like you to|be so kind and|make sure to|make sure you|be sure to", "|") {
			if rest, ok := lead(text, words); ok && rest != "" {
				text, again = rest, true
			}
		}
		// "I need a timer", but not "I need milk".
		for words := range strings.SplitSeq("i need|i want|i'd like|i’d like|i would like|give me|get me|have", "|") {
			if rest, ok := lead(text, words); ok && (strings.HasPrefix(lowered(rest, 2), "a ") || strings.HasPrefix(lowered(rest, 3), "an ")) {
				text, again = rest, true
			}
		}
	}
	return text, asked
}

// back removes polite words from the end. "thanks" needs a sign or a time before it, and none is removed after "say", because both may be part of the
// request.
func back(text string) string {
	bare := strings.TrimRight(text, "!?., ")
	for words := range strings.SplitSeq("please|pls|plz|thanks|thank you|thanks a lot|thx|if you can", "|") {
		i := len(bare) - len(words)
		if i < 2 || !strings.EqualFold(bare[i:], words) || !strings.ContainsRune(" ,.!?\n", rune(bare[i-1])) {
			continue
		}
		head := strings.TrimRight(bare[:i], " \n")
		sign := strings.ContainsRune(",.!?", rune(head[max(len(head)-1, 0)])) || strings.Contains(bare[len(head):i], "\n")
		// After a time, thanks are no part of the request either: "at 18:30 thanks".
		last := strings.ToLower(head[strings.LastIndexByte(head, ' ')+1:])
		sign = sign || words == "thx" || strings.ContainsAny(last, "0123456789") || among(last, "am|pm|noon|today|tomorrow|tonight|minutes|hours")
		if strings.HasPrefix(words, "th") && !sign || strings.HasSuffix(lowered(head, len(head)), "say") {
			continue
		}
		return back(strings.TrimRight(head, " ,.!?"))
	}
	return text
}

// lead returns the text after words at its beginning. In contrast to after, punctuation may follow them: "hey, …", "remind me: …".
func lead(text, words string) (string, bool) {
	for w := range strings.FieldsSeq(words) {
		if len(text) < len(w) || !strings.EqualFold(text[:len(w)], w) {
			return "", false
		}
		rest := text[len(w):]
		next := strings.TrimLeftFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",.!:;-–", r) })
		// The word goes on, or the signs belong to the next word: "run.sh", "hob-cli".
		if rest != "" && (len(next) == len(rest) || !strings.ContainsAny(rest[:len(rest)-len(next)], " \t\n") && next != "") {
			return "", false
		}
		text = next
	}
	return text, true
}

// leadAny returns the text after the first of the beginnings that it has.
func leadAny(text string, beginnings ...string) (string, bool) {
	for _, words := range beginnings {
		if rest, ok := lead(text, words); ok {
			return rest, true
		}
	}
	return "", false
}

// plainWords returns the words of a short text in lower case without punctuation and apostrophes: "What's up?" becomes "whats up".
func plainWords(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("'’", r):
			return -1
		case strings.ContainsRune(",.!?;:", r):
			return ' '
		}
		return unicode.ToLower(r)
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
