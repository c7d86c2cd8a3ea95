package builtin

import (
	"slices"
	"strings"
	"unicode"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/text"
)

// notUnderstood begins the answer to a text that is no command. The answers after the first one are shorter.
const notUnderstood = "I did not understand that."

// didYouMean begins an answer that suggests a command. The line ends with the command.
const didYouMean = "Did you mean: "

// suggestion returns the command that the last answer before the running turn suggested, "" if it suggested none.
func suggestion(messages []llm.Message) string {
	turn := messages[len(messages)-1].Step.Turn
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.Assistant && m.Step.Turn != turn {
			meant, ok := strings.CutPrefix(event.TextOf(m.Parts), didYouMean)
			meant, _, _ = strings.Cut(meant, "\n")
			if !ok {
				return ""
			}
			return meant
		}
	}
	return ""
}

// lost answers a text that is not a command: with what was probably meant, else with examples, once in a conversation.
func (s *state) lost(input string) string {
	input = courteous(strings.TrimSpace(strings.ToValidUTF8(input, "\uFFFD")))
	switch meant := s.meant(input); {
	case meant != "":
		return didYouMean + meant
	case foreign(input):
		return "Without a language model I understand English commands only, for example: remind me in 20m to stretch. help lists them."
	case s.m.Why != "" && s.owner():
		return notUnderstood + " help lists the commands that I know. " + s.m.Why
	case s.wasLost && !s.owner():
		return notUnderstood + " help lists what I can do."
	case s.wasLost:
		return notUnderstood + " help lists what I can do without a language model; hob setup connects one."
	}
	connect := ""
	if s.owner() {
		connect = " (hob setup connects one)"
	}
	return notUnderstood + " Without a language model" + connect + " I know plain commands, for example:\n\n  " + strings.Join(fitting(s.tools, input), "\n  ") + "\n\nhelp lists them all."
}

// toldLost reports whether an earlier answer of the conversation was notUnderstood.
func toldLost(messages []llm.Message) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return m.Role == llm.Assistant && strings.HasPrefix(event.TextOf(m.Parts), notUnderstood)
	})
}

// maxMeant limits the length of a text whose first word may be a typing error.
const maxMeant = 300

// meant returns the command that a text probably means: a shell command without "run", or a command with a typing error in its first word.
func (s *state) meant(input string) string {
	if len(input) > maxMeant || strings.ContainsAny(input, "\n\r") {
		return ""
	}
	if shell(input) && s.tools[toolExec] {
		return "run " + input
	}
	if note := s.dated(input); note != "" {
		return note
	}
	word, rest, _ := strings.Cut(input, " ")
	typed := strings.ToLower(strings.Trim(word, ",.:!?"))
	for _, known := range []string{"remind", "remember", "forget", "list", "read", "write", "find", "watch", "pause", "resume", "delete", "remove", "cancel", "help", "every", "tomorrow", "send", "timer", "alarm", "wake"} {
		// One error in a short word, two in a long one.
		if typed == known || len(typed) < 3 || text.Distance(typed, known) > (len(known)+2)/4 {
			continue
		}
		corrected := strings.TrimSpace(known + " " + rest)
		if p := s.g.parse(corrected); p.known && (p.tool == "" || s.reachable(p)) {
			return corrected
		}
	}
	return ""
}

// dated returns the reminder that a note with a time probably means: "dentist tomorrow 14:30". A question or a refusal means none.
func (s *state) dated(input string) string {
	bare := strings.TrimRight(input, "!?., ")
	if head := max(len(bare)-len("remind me"), 0); strings.EqualFold(bare[head:], "remind me") {
		bare = strings.TrimRight(bare[:head], " ,.;")
	}
	word, _, _ := strings.Cut(plainWords(bare), " ")
	if strings.HasSuffix(input, "?") || among(word, "what|whats|who|whos|why|how|hows|where|wheres|when|whens|which|is|are|am|do|does|did|can|could|will|would|should|dont|not|never|no|stop|tell|write|send|pause") {
		return ""
	}
	if _, _, err := s.g.timed(bare); err != nil || !s.tools[toolCron] {
		return ""
	}
	return "reminder: " + bare
}

// shell reports whether a text looks like a shell command. Words that are also English need a sign that English has not.
func shell(input string) bool {
	words := strings.Fields(input)
	if len(words) == 0 {
		return false
	}
	command := words[0]
	if strings.HasPrefix(command, "./") || strings.HasPrefix(command, "/usr/") || strings.HasPrefix(command, "/bin/") {
		return true
	}
	certain := strings.Fields("df du ps pwd whoami uname hostname uptime ls mkdir rmdir chmod chown systemctl journalctl apt apt-get brew pip pip3 npm npx git docker podman kubectl curl wget ssh scp rsync " +
		"sudo htop ifconfig netstat lsblk lsof dmesg sed awk tar unzip gzip grep egrep rg echo printf python python3 perl ruby cargo cmake gcc vim nano nvim emacs xargs printenv mv cp rm cd ip id")
	english := strings.Fields("cat make go top free head tail less more sort which touch kill date mount tree node zip diff cut wc env nice man ping host dig bash sh zsh service history test stat file")
	if slices.Contains(certain, command) {
		return len(words) < 12
	}
	return slices.Contains(english, command) && (strings.ContainsAny(input, "./|~$*>_") || strings.Contains(input, " -") || len(words) == 1) && !strings.HasSuffix(input, ".")
}

// foreign reports whether a text is probably not English: letters of another script, or a word that only another language has.
func foreign(input string) bool {
	letters, other := 0, 0
	for _, r := range input {
		if unicode.IsLetter(r) {
			letters++
			if r > unicode.MaxLatin1 && !unicode.Is(unicode.Latin, r) {
				other++
			}
		}
	}
	words := strings.Fields(plainWords(input))
	return letters > 0 && other*2 > letters || slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(strings.Fields("jeden jede bitte erinnere hallo ich nicht und mir morgen heute uhr danke wie wetter "+
			"bonjour salut rappelle moi demain aujourdhui merci chaque jour quel est sil vous "+
			"hola recuérdame recuerdame mañana gracias cada qué buenos días por favor cómo "+
			"ciao ricordami domani grazie ogni giorno olá lembre amanhã obrigado herinner morgen alsjeblieft hoi cześć przypomnij jutro dziękuję hej påmind"), w)
	})
}

// fitting returns up to three examples whose tools are available, those first whose subject the text mentions.
func fitting(tools map[string]bool, input string) []string {
	words := strings.Fields(plainWords(input))
	var near, rest []string
	for _, e := range []struct{ tool, example, subjects string }{
		{toolCron, "remind me in 20m to stretch", "remind reminder alarm timer wake tomorrow today minutes hour time appointment meeting calendar at"},
		{toolExec, "run df -h .", "command shell disk space memory computer machine server process program execute start script backup"},
		{toolCron, "every weekday at 9: say good morning", "every daily weekly monthly schedule job morning evening repeat"},
		{toolRemember, "remember that the door code is 4711", "know fact note name number birthday code password i"},
		{toolRead, "read notes.md", "file files document notes folder show open text"},
		{toolGrep, "find milk", "search look where contains"},
		{toolWrite, "write notes.md: buy milk", "list shopping buy todo save"},
	} {
		if !tools[e.tool] {
			continue
		}
		if slices.ContainsFunc(strings.Fields(e.subjects), func(w string) bool { return slices.Contains(words, w) }) {
			near = append(near, e.example)
		} else {
			rest = append(rest, e.example)
		}
	}
	list := append(near, rest...)
	return append(list[:min(3, len(list))], []string{"say hello", "help"}[:max(0, 1-len(list))]...)
}
