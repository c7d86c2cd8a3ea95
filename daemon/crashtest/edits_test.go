//go:build linux

package crashtest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hob/daemon/api"
)

// messageChanges records the edits and the deletion of a message of the owner.
type messageChanges struct {
	edits  []edit
	gone   bool // deleted
	unread bool // all of that was done before hob could hear any of it
}

// edit is a message as it was changed to; id is that of the change.
type edit struct{ id, text string }

// planEdits plans edits and deletions by the owner, some at once and some when hob may have read the message. It also plans a question with
// buttons and a file from a known person.
func (r *harness) planEdits(rng *rand.Rand, k int) {
	if r.chats == nil || !r.chats.met {
		return
	}
	if rng.IntN(4) == 0 {
		r.requestQuestion(k)
		return
	}
	v := r.chats.venues[rng.IntN(len(r.chats.venues))]
	if v.edits == nil {
		return
	}
	text := func(i int) string { return fmt.Sprintf("please do plain-%d", 80_000+10*k+i) }
	switch rng.IntN(5) {
	case 0:
		if r.chats.replies[v]++; r.chats.replies[v] <= mostReplies {
			r.sendFile(v, text(0), fmt.Sprintf("sheet-%d.txt", k), 1+rng.IntN(60_000))
		}
	case 1:
		u := r.speak(v, owner, text(0))
		for i := range 1 + rng.IntN(2) {
			r.edit(u, text(1+i))
		}
		u.unread = true
	case 2:
		if u := r.recentMessage(v, rng); u != nil {
			r.edit(u, text(0))
		}
	case 3:
		if v.deletes != nil {
			u := r.speak(v, owner, text(0))
			if rng.IntN(2) == 0 {
				r.edit(u, text(1))
			}
			r.remove(u)
			u.unread = true
		}
	case 4:
		if u := r.recentMessage(v, rng); u != nil && v.deletes != nil {
			r.remove(u)
		}
	}
}

// requestQuestion has the owner ask for a question on a channel with buttons.
func (r *harness) requestQuestion(k int) {
	for _, v := range r.chats.venues {
		if v.buttons != nil {
			r.speak(v, owner, fmt.Sprintf("please do ask-%d", 80_000+10*k))
		}
	}
}

// recentMessage returns one of the two newest messages of the owner's private chat that can still be changed; nil if there is none. A
// command cannot be changed.
func (r *harness) recentMessage(v *chatServer, rng *rand.Rand) *chatMessage {
	var list []*chatMessage
	for _, u := range slices.Backward(r.chats.said) {
		if u.at == v && u.who == owner && u.file == nil && !u.gone && !strings.HasPrefix(u.text, "/") && len(list) < 2 {
			list = append(list, u)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rng.IntN(len(list))]
}

// sendFile sends a file with a caption from a known person. A file of the owner's own would taint the owner's conversation, in which tools
// have to work.
func (r *harness) sendFile(v *chatServer, caption, name string, size int) {
	e := attachment{name, bytes.Repeat([]byte(name+" "), size/len(name)+1)}
	u := &chatMessage{at: v, who: known, text: caption, id: v.brings(caption, e), file: &e}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chats.said = append(r.chats.said, u)
}

// edit is the owner changing a message.
func (r *harness) edit(u *chatMessage, text string) {
	id := u.at.edits(u.id, text)
	r.mu.Lock()
	defer r.mu.Unlock()
	u.edits = append(u.edits, edit{id, text})
	u.unread = false
}

// remove is the owner deleting a message.
func (r *harness) remove(u *chatMessage) {
	u.at.deletes(u.id)
	r.mu.Lock()
	defer r.mu.Unlock()
	u.gone, u.unread = true, false
}

// buttonPress is a button that the owner has pressed below a question.
type buttonPress struct {
	at             *chatServer
	code, data, id string
}

// Some questions are answered by a button, if there is one before they have been looked at so often.
const mostLooks = 100

// pressButtons presses a button below a question, and for some questions a second one right after it. It returns false if there are no
// buttons, or if the question needs another kind of answer.
func (r *harness) pressButtons(q api.Question) bool {
	if r.chats == nil {
		return false
	}
	if slices.ContainsFunc(r.chats.taps, func(t buttonPress) bool { return t.code == q.Code }) {
		return true
	}
	if q.Code[1]%3 == 0 {
		return false
	}
	for _, v := range r.chats.venues {
		if v.buttons == nil || !strings.HasPrefix(string(q.To), v.name+":") {
			continue
		}
		below := slices.DeleteFunc(v.buttons(), func(b button) bool { return codeOf(b) != q.Code })
		if len(below) == 0 {
			r.chats.looks[q.Code]++
			return r.chats.looks[q.Code] < mostLooks
		}
		r.pressButton(v, q.Code, below[0])
		if last := below[len(below)-1]; q.Code[2]%2 == 0 {
			r.pressButton(v, q.Code, last)
		}
		return true
	}
	return false
}

// codeOf is that of the question that a button is below of.
func codeOf(b button) string {
	_, behind, _ := strings.Cut(b.data, " ")
	code, _, _ := strings.Cut(behind, " ")
	return code
}

func (r *harness) pressButton(v *chatServer, code string, b button) {
	r.chats.taps = append(r.chats.taps, buttonPress{v, code, b.data, v.press(b.message, b.data)})
}
