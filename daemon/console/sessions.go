package console

import (
	"fmt"
	"strconv"
	"strings"
)

// Choice is a conversation to go on with.
type Choice struct {
	Key   string
	Title string
	Turns int
}

// elsewhere says where to find what other programs of this kind have as chat commands, "" for any other line.
func elsewhere(message string) string {
	switch message {
	case "/tasks":
		return "in a shell: hob tasks list"
	case "/trust":
		return "in a shell, hob trust list shows the files with text of others; here, /clean ends the restrictions of a conversation that has read some"
	case "/undo":
		return "hob cannot take a turn back; in a shell, hob turns list and hob turns show ID say what it has done"
	}
	return ""
}

// choose shows the conversations. The next line may be the number of one.
func (k *talk) choose() error {
	if k.options.Sessions == nil {
		return nil
	}
	list, err := k.options.Sessions()
	if err != nil {
		return k.showError(err)
	}
	k.choices = list
	var text strings.Builder
	text.WriteString("which conversation? Type its number; anything else stays here")
	for i, c := range list {
		fmt.Fprintf(&text, "\n  %d) %s", i+1, OneLine(c.Key))
		if c.Title != "" && c.Title != c.Key {
			text.WriteString(" - " + OneLine(c.Title))
		}
		text.WriteString(", " + Plural(c.Turns, "turn"))
	}
	k.conversation.out.Ask(text.String())
	return nil
}

// chosen goes on with the conversation whose number was typed; false if the line is no number of one.
func (k *talk) chosen(message string) bool {
	n, err := strconv.Atoi(strings.TrimSpace(message))
	list := k.choices
	k.choices = nil
	if err != nil || n < 1 || n > len(list) {
		return false
	}
	k.options.Session, k.conversation.session = list[n-1].Key, list[n-1].Key
	k.conversation.out.Note("you are now in " + OneLine(list[n-1].Key))
	return true
}
