package slack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/fail"
)

// Limits of Block Kit ("Section block", "Actions block", "Button element").
const (
	maxSection = 3000 // characters
	maxButtons = 25   // buttons of one block
	maxLabel   = 75   // characters
	maxValue   = 2000 // characters
)

// errNoTime reports a successful answer that does not name the message.
var errNoTime = errors.New("the answer names no message (check api_base)")

// Send sends one part as mrkdwn without link previews; in a group it goes into the thread of the answered
// message. A file is sent with its text. The nonce is stored in the message's metadata, by which Find
// recognises it.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	at, err := c.target(d.To)
	if err != nil {
		return "", err
	}
	// A person's address is the user id, but Slack sends to the id of the chat.
	chat, err := c.chat(ctx, at)
	if err == nil && d.File != nil {
		return c.upload(ctx, d, chat, at.thread)
	}
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, classify(err, false))
	}
	var w wire.Written
	options := append(c.content(d), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	if at.thread != "" {
		options = append(options, slack.MsgOptionTS(at.thread))
	}
	there, ts, err := c.web.PostMessageContext(w.Watch(ctx), chat, options...)
	if err == nil && (there == "" || ts == "") {
		err = errNoTime
	}
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, classify(err, w.Maybe()))
	}
	fail.Point("sending.answered")
	return id(there, ts), nil
}

// Edit replaces the text of a message (chat.update). The text of a file cannot be edited.
func (c *Channel) Edit(ctx context.Context, d channels.Delivery, remoteID string) error {
	chat, ts, ok := strings.Cut(remoteID, ":")
	if !ok || d.File != nil {
		return fmt.Errorf("edit %s: it is not a message with a text: %w", remoteID, channels.ErrPermanent)
	}
	var w wire.Written
	_, now, _, err := c.web.UpdateMessageContext(w.Watch(ctx), chat, ts, c.content(d)...)
	if err == nil && now == "" {
		err = errNoTime
	}
	if err != nil {
		return fmt.Errorf("edit %s: %w", remoteID, classify(err, w.Maybe()))
	}
	return nil
}

// metaKind is the event type of the metadata of hob's messages ("Message metadata").
const metaKind = "hob_delivery"

// content returns the text, the metadata and the buttons of a message.
func (c *Channel) content(d channels.Delivery) []slack.MsgOption {
	options := []slack.MsgOption{
		slack.MsgOptionText(c.Form().Render(d.Body).Text, false),
		slack.MsgOptionMetadata(slack.SlackMetadata{EventType: metaKind, EventPayload: map[string]any{"nonce": d.Nonce}}),
	}
	if blocks := c.blocks(d); len(blocks) > 0 {
		options = append(options, slack.MsgOptionBlocks(blocks...))
	}
	return options
}

// blocks returns a text with buttons below it, none if there are no buttons. A choice that is too long gets
// no button; the text lists it too.
func (c *Channel) blocks(d channels.Delivery) []slack.Block {
	var buttons []slack.BlockElement
	// Each button needs an action id that is unique in its block.
	for i, ch := range d.Choices {
		fits := strings.TrimSpace(ch.Label) != "" && utf8.RuneCountInString(ch.Label) <= maxLabel && ch.Data != "" && utf8.RuneCountInString(ch.Data) <= maxValue
		if fits && len(buttons) < maxButtons {
			label := slack.NewTextBlockObject(slack.PlainTextType, ch.Label, false, false)
			buttons = append(buttons, slack.NewButtonBlockElement("choice-"+strconv.Itoa(i), ch.Data, label))
		}
	}
	if len(buttons) == 0 && (d.Choices == nil || len(d.Choices) > 0) {
		return nil
	}
	form := c.Form()
	form.Limit = maxSection
	var blocks []slack.Block
	for _, part := range form.Split(d.Body) {
		text := slack.NewTextBlockObject(slack.MarkdownType, form.Render(part).Text, false, true)
		blocks = append(blocks, slack.NewSectionBlock(text, nil, nil))
	}
	if len(buttons) == 0 { // an edit that removes the buttons
		return blocks
	}
	return append(blocks, slack.NewActionBlock("", buttons...))
}

// upload sends a file ("Uploading files"): get an address, send the bytes there, then share the file. Nobody
// sees the file before the last call, so the first two can be repeated safely.
func (c *Channel) upload(ctx context.Context, d channels.Delivery, chat, thread string) (string, error) {
	// sends adds the file and the address to an error.
	sends := func(err error) (string, error) {
		return "", fmt.Errorf("send the file %s to %s: %w", d.File.Name, d.To, err)
	}
	// Slack refuses empty files with an unclear error.
	if d.File.Size == 0 {
		return sends(fmt.Errorf("it is empty, and such a file is not taken: %w", channels.ErrPermanent))
	}
	body, err := d.File.Whole(ctx)
	if err != nil {
		return sends(err)
	}
	defer func() { _ = body.Close() }() // it was only read
	place, err := c.web.GetUploadURLExternalContext(ctx, slack.GetUploadURLExternalParameters{FileName: d.File.Name, FileSize: int(d.File.Size)})
	if err != nil {
		return sends(classifyFile(err, false))
	}
	err = c.web.bulk.UploadToURL(ctx, slack.UploadToURLParameters{UploadURL: place.UploadURL, Reader: body, Filename: d.File.Name})
	if err != nil {
		return sends(classifyFile(err, false))
	}
	var w wire.Written
	text := ""
	if d.Body != "" {
		text = c.Form().Render(d.Body).Text
	}
	// Only this call may leave the result unknown.
	done, err := c.web.CompleteUploadExternalContext(w.Watch(ctx), slack.CompleteUploadExternalParameters{
		Files: []slack.FileSummary{{ID: place.FileID, Title: d.File.Name}}, Channel: chat, ThreadTimestamp: thread, InitialComment: text,
	})
	if err == nil && len(done.Files) == 0 {
		err = errNoTime
	}
	if err != nil {
		return sends(classifyFile(err, w.Maybe()))
	}
	fail.Point("sending.answered")
	return id(chat, place.FileID), nil
}

// Limits of a look-up.
const (
	skew      = 10 * time.Minute // hob's clock may be this far ahead of Slack's
	findPages = 20               // pages to read
)

// Find looks for the nonce in the messages since the first try. It cannot tell for a file, which has no
// metadata, nor if Slack hides the metadata of hob's own messages.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (string, bool, error) {
	at, err := c.target(d.To)
	if err != nil {
		return "", false, err
	}
	if d.File != nil {
		return "", false, fmt.Errorf("a file has no metadata: %w", channels.ErrUnknown)
	}
	me, err := c.self(ctx)
	if err != nil {
		return "", false, unsure(err)
	}
	chat, err := c.chat(ctx, at)
	if err != nil {
		return "", false, unsure(err)
	}
	// Only messages since the first try can be the delivery.
	page := historyPages{web: c.web.Client, chat: chat, thread: at.thread, since: stamp(d.Tried.Add(-skew)), metadata: true}
	for range findPages {
		list, err := page.next(ctx)
		if err != nil {
			return "", false, unsure(err)
		}
		for _, m := range list {
			switch mine := me.wrote(&m.Msg); {
			case mine && m.Metadata.EventType == metaKind && m.Metadata.EventPayload["nonce"] == d.Nonce:
				return id(chat, m.Timestamp), true, nil
			case mine && m.Metadata.EventType == "" && len(m.Files) == 0:
				return "", false, fmt.Errorf("the metadata of messages is not shown: %w", channels.ErrUnknown)
			}
		}
		if page.end {
			return "", false, nil
		}
	}
	return "", false, fmt.Errorf("too much was said since: %w", channels.ErrUnknown)
}

// unsure turns a refusal to show messages into ErrUnknown: it will be the same at the next look-up.
func unsure(err error) error {
	if refused(err, noScope+" "+never) {
		return fmt.Errorf("%w: %w", channels.ErrUnknown, hint(err))
	}
	return explain(err)
}

// chat returns the id of the chat to write to. The private chat with a person is opened when it is first
// needed.
func (c *Channel) chat(ctx context.Context, at target) (string, error) {
	if at.person == "" {
		return at.group, nil
	}
	c.mu.Lock()
	// A private chat keeps its id.
	known := c.directs[at.person]
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	ch, _, _, err := c.web.OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: []string{at.person}})
	if err == nil && (ch == nil || ch.ID == "") {
		err = errors.New("the answer names no chat (check api_base)")
	}
	if err != nil {
		return "", fmt.Errorf("open the private chat with %s: %w", at.person, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.directs[at.person] = ch.ID
	return ch.ID, nil
}
