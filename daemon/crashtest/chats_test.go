//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// Somebody who answers hob at once time after time is taken for a program, and not heard: so often one whom the owner knows writes at most in one home.
const mostReplies = 4

// chatState holds the chat servers of one home and the messages on them.
type chatState struct {
	venues  []*chatServer
	said    []*chatMessage
	bursts  int
	replies map[*chatServer]int         // of who is known
	cuts    map[*chatServer]int         // that were ordered
	due     map[*chatServer]func() bool // whether the last of them has not come yet
	met     bool                        // hob has listened on all of them
	growing bool                        // an answer is to be shown while it is made, which takes seconds
	taps    []buttonPress               // buttons that were pressed
	looks   map[string]int              // for a button below a question, by its code
}

// chatMessage is a message that somebody has written to hob.
type chatMessage struct {
	at    *chatServer
	who   speaker
	id    string // as it is to be in the inbox
	text  string
	burst int // other than 0: it was sent within the debounce time of the other message with this number
	came  bool

	messageChanges             // what became of it
	file           *attachment // that came with it
}

// addresses are the owner's on the chat servers.
func (r *harness) addresses() (list []string) {
	if r.chats == nil {
		return nil
	}
	for _, v := range r.chats.venues {
		list = append(list, v.name+":"+v.owner)
	}
	return list
}

// sections are those of the chat servers in the config.
func (r *harness) sections() (text string) {
	if r.chats == nil {
		return ""
	}
	for _, v := range r.chats.venues {
		text += v.config
	}
	return text
}

// expected reports whether hob must accept the message.
func (u *chatMessage) expected() bool { return u.who != stranger && u.who != aside }

// speak is somebody saying something, whether or not hob listens.
func (r *harness) speak(v *chatServer, who speaker, text string) *chatMessage {
	u := &chatMessage{at: v, who: who, text: text, id: v.says(who, text)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chats.said = append(r.chats.said, u)
	return u
}

// sayPair lets the owner write two messages at once, which debounce must join.
func (r *harness) sayPair(v *chatServer, one, two string) {
	r.chats.bursts++
	for _, text := range []string{one, two} {
		u := r.speak(v, owner, text)
		u.burst = r.chats.bursts
	}
}

// connectServers lets hob connect to all chat servers for the first time. On some of them, earlier messages are not delivered.
func (r *harness) connectServers() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	r.up()
	for _, v := range r.chats.venues {
		v.hears(ctx)
	}
	if ctx.Err() != nil {
		r.t.Fatalf("hob does not listen on all chat servers\n%s", r.proc.said)
	}
	r.chats.met = true
	for i, v := range r.chats.venues {
		r.speak(v, owner, fmt.Sprintf("please do plain-%d", 8000+i))
	}
	why := ""
	if !until(settleTime, func() bool {
		c, err := r.dial(ctx)
		if err != nil {
			return false
		}
		why = r.unreadMessages(ctx, c)
		return why == ""
	}) {
		r.t.Fatalf("%s\n%s", why, r.proc.said)
	}
	r.kill()
}

// planChatEvents plans events on the chat servers that the owner does not cause: messages of others, lost connections, repeated updates.
func (r *harness) planChatEvents(rng *rand.Rand, k int) {
	if r.chats == nil || !r.chats.met {
		return
	}
	v := r.chats.venues[rng.IntN(len(r.chats.venues))]
	text := fmt.Sprintf("please do plain-%d", 60_000+10*k)
	switch rng.IntN(8) {
	case 0:
		if r.chats.replies[v]++; r.chats.replies[v] <= mostReplies {
			r.speak(v, known, text)
		}
	case 1:
		r.speak(v, called, text)
	case 2:
		r.speak(v, []speaker{stranger, aside}[rng.IntN(2)], text)
	case 3:
		r.sayPair(v, text, fmt.Sprintf("please do plain-%d", 60_001+10*k))
	case 4:
		if u := r.chats.said[rng.IntN(len(r.chats.said))]; u.expected() {
			u.at.again(u.id)
		}
	case 5, 6:
		if due := r.chats.due[v]; due == nil || !due() { // two in a row are another story
			r.cutOff(v, rng.IntN(2) == 0)
		}
	}
}

// cutOff lets the connection of the next send end before or after the platform has taken it.
func (r *harness) cutOff(v *chatServer, after bool) {
	r.chats.cuts[v]++
	r.chats.due[v] = v.cut(after)
}

// unreceivedMessage names the first message that has not arrived in the inbox; "" for none.
func (r *harness) unreceivedMessage(ctx context.Context, c *client.Client) string {
	if r.chats == nil {
		return ""
	}
	for _, v := range r.chats.venues {
		if v.taken != nil && !v.taken() {
			return "hob has not taken all that has happened on " + v.name
		}
		missing := func() int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return slices.IndexFunc(r.chats.said, func(u *chatMessage) bool { return u.at == v && u.expected() && !u.came && !u.gone })
		}
		if missing() < 0 {
			continue
		}
		there, err := r.inboxOf(ctx, c, v.name)
		if err != nil {
			return err.Error()
		}
		r.mu.Lock()
		for _, u := range r.chats.said {
			u.came = u.came || u.at == v && there[u.id]
		}
		r.mu.Unlock()
		if i := missing(); i >= 0 {
			return fmt.Sprintf("message %s of %s (%s) has not come in", r.chats.said[i].id, v.name, r.chats.said[i].text)
		}
	}
	return ""
}

// inboxOf are the ids of what has come in from a source.
func (r *harness) inboxOf(ctx context.Context, c *client.Client, source string) (map[string]bool, error) {
	rows, err := client.List(ctx, c, api.Inbox, client.Filter{Name: source, Limit: 1000})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.ExtID] = true
	}
	return there, nil
}

// watchGrow lets an answer take so long that it is shown while it is made, and hob live until some time after that.
func (r *harness) watchGrow(rng *rand.Rand, k int) {
	v := r.chats.venues[rng.IntN(len(r.chats.venues))]
	r.speak(v, owner, fmt.Sprintf("please do slow-%d", 50_000+k))
	r.up()
	ctx, cancel := context.WithCancel(context.Background())
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		r.feed(ctx, r.proc.gone)
	}()
	happens(r.proc.gone, 3*time.Second+time.Duration(rng.IntN(5_000))*time.Millisecond)
	cancel()
	<-fed
	r.kill()
}
