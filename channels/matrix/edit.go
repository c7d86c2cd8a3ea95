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

// editContent is the content of a message that replaces another one ("Event replacements"). Clients without
// support show its own text. That is only the beginning, because an event is limited to 65,536 bytes and New
// may need nearly all of them.
type editContent struct {
	outgoing
	New outgoing `json:"m.new_content"`
}

// Edit replaces the text of a message with an m.replace event. Each edit has its own transaction id, because
// a text may return to an earlier version. To repeat an edit does no harm.
func (c *Channel) Edit(ctx context.Context, d channels.Delivery, remoteID string) error {
	room, event := splitID(remoteID)
	if !strings.HasPrefix(room, "!") || event == "$" {
		return fmt.Errorf("edit %q: it is not a message in a room: %w", remoteID, channels.ErrPermanent)
	}
	if err := c.checkUnencrypted(ctx, room); err != nil {
		return fmt.Errorf("edit %s: %w", remoteID, statuses().Sent(err, false))
	}
	out := content(d, c.Form())
	whole := editContent{New: out, outgoing: outgoing{Type: out.Type, Body: "* " + beginning(out.Body), Relates: &relation{Kind: "m.replace", ID: event}}}
	err := c.api.call(ctx, http.MethodPut, path("v3", "rooms", room, "send", "m.room.message", d.Nonce+"."+rand.Text()), whole, nil)
	if err != nil {
		return fmt.Errorf("edit %s: %w", remoteID, statuses().Sent(err, false))
	}
	return nil
}

// maxFallback limits the text for clients without support for edits, in characters.
const maxFallback = 300

// beginning returns the text for such clients.
func beginning(text string) string {
	if long := []rune(text); len(long) > maxFallback {
		return string(long[:maxFallback-1]) + "…"
	}
	return text
}

// content renders a text as plain text and HTML.
func content(d channels.Delivery, form markup.Form) outgoing {
	piece := form.Render(d.Body)
	out := outgoing{Type: "m.text", Body: piece.Text}
	if piece.HTML != "" {
		out.Format, out.HTML = "org.matrix.custom.html", piece.HTML
	}
	return out
}
