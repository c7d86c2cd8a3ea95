package console

import (
	"context"
	"strings"
	"time"
)

// idleDelay is how long nothing is typed and nothing asked before the prompt turns to a question. Until then a person may type for the prompt that
// was there before.
const idleDelay = 600 * time.Millisecond

// disturbed notes that something was typed or asked.
func (k *talk) disturbed() {
	k.isIdle = false
	k.idle.Reset(idleDelay)
}

// offer lets the prompt ask for the answer to the oldest open question, or to none. A line that was begun keeps its prompt: it answers what
// the prompt showed when its first key was pressed.
func (k *talk) offer() {
	q, open := k.conversation.current()
	switch {
	case q.Code == k.answers, k.ending, k.draft.open(), !k.editor.editing, k.editor.typing.begun():
	case open && (!k.isIdle || k.editor.term == nil): // the system's line may have text
	default:
		k.answers = q.Code
		k.editor.reprompt(k.prompt())
	}
}

// prompt returns the prompt of the input line: for the next line of a message, for an answer to a question, or for a new message.
func (k *talk) prompt() string {
	q, ok := k.conversation.asked[k.answers]
	switch {
	case k.draft.open():
		return k.options.Look.glyph("… ", "... ")
	case k.ending:
		return "stop hob? [y]es, [n]o: "
	case ok:
		return q.Code + " " + q.Prompt()
	}
	return "> "
}

// covered returns the first line of the question that the line answers, shortened to the width, if something came below the question; ""
// otherwise. The owner may no longer see the question then.
func (k *talk) covered() string {
	q, ok := k.conversation.asked[k.answers]
	v := k.editor.view
	if !ok || k.draft.open() || v.blocks == k.asked && q.Code == k.last {
		return ""
	}
	first, _, _ := strings.Cut(q.Plain(), "\n")
	width, _ := v.size()
	return v.cut(OneLine(first), width-1)
}

// answer tries a message as the answer to the question that its prompt showed. It is not done if the message goes to hob; the question then
// waits for its commands, unless the message was a command.
func (k *talk) answer(ctx context.Context, code, message string) (done bool, err error) {
	q, open := k.conversation.asked[code]
	switch {
	case code == "":
		return false, nil
	case !open && strings.TrimSpace(message) == "":
		return true, nil
	case !open:
		k.conversation.out.Note(code + " no longer waits for an answer; press Enter to send your line as a message")
		k.begin()
		k.editor.again(message)
		return true, nil
	}
	if reply, ok := q.Reply(message); ok {
		return true, k.showError(q.answer(ctx, k.options.API, reply))
	}
	if !strings.HasPrefix(message, "/") {
		k.conversation.leave(code)
		k.conversation.out.Note(code + " still waits: " + q.commands())
	}
	return false, nil
}

// leaves reports whether a line ends the conversation. Where that ends hob, it asks first. The answer to a question may be any word.
func (k *talk) leaves(message, answers string, ending bool) bool {
	q, open := k.conversation.asked[answers]
	switch message {
	case "/exit", "/quit":
	case "exit", "quit":
		if open && !q.Approval() {
			return false
		}
	default:
		return ending && yes(message)
	}
	if k.options.Ends && !ending {
		k.conversation.out.Note("that stops hob, and reminders wait until it runs again; to keep it running: hob service install")
		k.ending = true
		return false
	}
	return true
}

// yes reports whether a line agrees.
func yes(line string) bool { return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes") }
