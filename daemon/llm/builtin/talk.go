package builtin

import (
	"slices"
	"strings"
	"time"

	"hob/daemon/llm"
)

// talk answers small talk and questions about the time in one line. It is empty for any other text.
func (s *state) talk(text string) string {
	text = strings.TrimSpace(text)
	for _, t := range []string{text, courteous(text)} {
		if answer := s.reply(plainWords(t), t); answer != "" {
			return answer
		}
	}
	return ""
}

// among reports whether a text is one of a list that has a bar between its entries. One constant is smaller in the program than a slice.
func among(text, list string) bool {
	return !strings.Contains(text, "|") && strings.Contains("|"+list+"|", "|"+text+"|")
}

// reply answers one text. plain are its words without punctuation.
func (s *state) reply(plain, text string) string {
	said := func(list string) bool { return among(plain, list) || among(strings.TrimSuffix(plain, " hob"), list) }
	name := ""
	if s.m.Owner != "" && s.owner() {
		name = " " + s.m.Owner
	}
	switch {
	case text != "" && strings.Trim(text, "?! ") == "", said("h|man|info"):
		return s.help()
	case said("hello|hi|hey|hi there|hello there|hey there|hello world|hob|yo|hiya|howdy|greetings|good morning|morning|good afternoon|" +
		"good evening|good day|whats up|sup|test|testing|ping|are you there|anybody there|you there|anyone there"):
		return "Hello" + name + ". For example: remind me in 20m to stretch. help shows what else I can do."
	case said("thanks|thank you|thx|ty|thanks a lot|thank you very much|many thanks|cheers|great|cool|nice|perfect|good|well done|good job|" +
		"awesome|thank you so much"):
		return "You are welcome."
	case said("how are you|how are you doing|how is it going|hows it going|how do you do"):
		return "I am running well. help shows what I can do."
	case said("good night|night"):
		return "Good night" + name + "."
	case said("who are you|what are you|what is your name|whats your name|are you a bot|are you an ai|are you human|what is hob|whats hob|" +
		"what is this|are you real|are you chatgpt"):
		return "I am hob, a program that does chores for you. Here I understand plain commands, without a language model: help shows them."
	case said("yes|y|ok|okay|no|n|sure|yep|yeah|nope|alright|fine|never mind|nevermind|nothing|do it|go ahead|go on|continue|maybe"):
		return "I have no open question here. hob approvals list shows what waits for your decision."
	case said("quit|exit|bye|goodbye|good bye|see you|ciao|logout|log out|q|close|:q"):
		if source(s.messages) == "cli" {
			return "Ctrl-D or Ctrl-C leaves this terminal."
		}
		return "Goodbye" + name + ". Write whenever you need me."
	case said("stop|cancel|abort|halt|stop it|stop that|cancel that|cancel it"):
		return "Nothing is running now. /stop ends what runs; cancel NAME removes a reminder or job."
	case said("status|show status|system status|how is hob|whats the status|what is the status|state"):
		return "/status shows what hob is doing, /jobs the schedule, /queue what waits, /usage the spending."
	case said("list|show|ls all"):
		return "List what? For example: list jobs, list files, list tasks, list watches."
	case said("setup|set up|login|log in|connect|connect a model|install|configure|settings|config"):
		return s.help()
	}
	if answer := clock(s.m.Now, plain); answer != "" {
		return answer
	}
	sign := asked(strings.ToLower(text))
	if value, ok := sum(sign); ok {
		return strings.TrimRight(sign, "=? ") + " = " + value
	}
	return ""
}

// source returns the channel of the newest input, "" if it is not known.
func source(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Envelope != nil {
			return m.Envelope.Source
		}
	}
	return ""
}

// asked returns the subject of a question in lower case: "what is the time" is about "time".
func asked(question string) string {
	for _, words := range []string{"what is", "what's", "what’s", "whats", "what", "tell me", "show me", "do you know", "the", "current", "is", "calculate", "compute", "how much is"} {
		question, _ = strings.CutPrefix(question, words+" ")
	}
	return strings.TrimSpace(question)
}

// clock answers questions about the date and the time.
func clock(now func() time.Time, plain string) string {
	if now == nil {
		return ""
	}
	if about := asked(strings.TrimSuffix(plain, " now")); about != "" && among(about, "date|time|day|date today|day today|day is it|day is it today|day is today|date is it|date is it today|date is today|time is it|"+
		"the time|today|todays date|date and time|time and date|year|year is it|month|month is it|weekday") {
		now := now()
		return "It is " + now.Format("Monday, 2 January 2006, 15:04") + " (" + now.Location().String() + ")."
	}
	return ""
}
