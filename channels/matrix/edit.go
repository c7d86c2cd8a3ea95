package matrix

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"hob/channels"
	"hob/channels/markup"
)

// replacing is the content of a message that takes the place of another one (Client-Server API, "Event replacements"). Programs that know no
// replacements show its own text: only its beginning, because a whole event has 65,536 bytes at most, and New may need nearly all of them.
type replacing struct {
	outgoing
	New outgoing `json:"m.new_content"`
}

// Edit puts another text in the place of a message: an m.replace of it. Each edit is a transaction of its own, because a text may come
// back that was there before; made twice it says the same.
func (c *Channel) Edit(ctx context.Context, d channels.Delivery, remoteID string) error {
	room, event := cutID(remoteID)
	if !strings.HasPrefix(room, "!") || event == "$" {
		return fmt.Errorf("edit %q: it is no message of a room: %w", remoteID, channels.ErrPermanent)
	}
	if err := c.clear(ctx, room); err != nil {
		return fmt.Errorf("edit %s: %w", remoteID, statuses().Sent(err, false))
	}
	out := content(d, c.Form())
	whole := replacing{New: out, outgoing: outgoing{Type: out.Type, Body: "* " + beginning(out.Body), Relates: &relation{Kind: "m.replace", ID: event}}}
	err := c.api.call(ctx, http.MethodPut, path("v3", "rooms", room, "send", "m.room.message", d.Nonce+"."+rand.Text()), whole, nil)
	if err != nil {
		return fmt.Errorf("edit %s: %w", remoteID, statuses().Sent(err, false))
	}
	return nil
}

// maxFallback is how much of an edit's text programs that know no replacements get to see, in characters.
const maxFallback = 300

// beginning is a text as far as such programs show it.
func beginning(text string) string {
	if long := []rune(text); len(long) > maxFallback {
		return string(long[:maxFallback-1]) + "…"
	}
	return text
}

// content is a text in plain and in HTML.
func content(d channels.Delivery, form markup.Form) outgoing {
	piece := form.Render(d.Body)
	out := outgoing{Type: "m.text", Body: piece.Text}
	if piece.HTML != "" {
		out.Format, out.HTML = "org.matrix.custom.html", piece.HTML
	}
	return out
}
