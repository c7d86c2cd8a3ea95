package discord

import (
	"cmp"
	"encoding/json"
	"time"
)

// The fields that hob reads of Discord's types ("Resources", "Gateway Events", "Receiving and Responding").
// Others are ignored.

// frame is a message of the gateway, in both directions ("Payload Structure").
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"` // of a dispatch
	Type string          `json:"t"` // of a dispatch
}

// Opcodes of the gateway ("Gateway Opcodes").
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

// user is an account ("User Object").
type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Global   string `json:"global_name"` // the display name; "" for none
	Bot      bool   `json:"bot"`
	System   bool   `json:"system"`
}

// name returns the display name.
func (u *user) name() string {
	return cmp.Or(u.Global, u.Username)
}

// message is a message. A deletion contains only ids.
type message struct {
	ID      string     `json:"id"`
	Channel string     `json:"channel_id"`
	Guild   string     `json:"guild_id"` // only in events; "" for a private chat
	Type    int        `json:"type"`
	Flags   int        `json:"flags"`
	Author  *user      `json:"author"`
	Member  member     `json:"member"`
	Webhook string     `json:"webhook_id"`
	At      time.Time  `json:"timestamp"`
	Edited  *time.Time `json:"edited_timestamp"`
	Calls   []user     `json:"mentions"`
	content
	answer
}

// content is the text and the attachments of a message. Embeds are ignored: Discord makes them from links.
type content struct {
	Text     string       `json:"content"`
	Files    []attachment `json:"attachments"`
	Stickers []sticker    `json:"sticker_items"`
	Poll     *ballot      `json:"poll"`
}

// answer is the message that a message refers to.
type answer struct {
	To        reference  `json:"message_reference"`
	Replied   *message   `json:"referenced_message"`
	Snapshots []snapshot `json:"message_snapshots"` // of a forwarded message
}

// member is a user's membership of a server ("Guild Member Object").
type member struct {
	Nick string `json:"nick"`
}

// reference points to another message ("Message Reference").
type reference struct {
	Type    int    `json:"type"`
	Channel string `json:"channel_id"`
	Message string `json:"message_id"`
}

// snapshot is the content of a forwarded message ("Message Snapshot").
type snapshot struct {
	Message content `json:"message"`
}

// attachment is a received file ("Attachment Object").
type attachment struct {
	Name   string  `json:"filename"`
	MIME   string  `json:"content_type"`
	Size   int64   `json:"size"`
	URL    string  `json:"url"`
	Length float64 `json:"duration_secs"` // of a recording, in seconds
}

// sticker is a sticker of a message ("Sticker Item").
type sticker struct {
	Name string `json:"name"`
}

// ballot is a poll ("Poll Object").
type ballot struct {
	Question struct {
		Text string `json:"text"`
	} `json:"question"`
}

// Values of "Message Types", "Message Reference Types" and "Message Flags".
const (
	typeDefault   = 0
	typeReply     = 19
	typeForward   = 1
	flagSuppress  = 1 << 2 // no link previews
	flagVoice     = 1 << 13
	threadFirst   = 10 // the first of the thread types: announcement, public and private ("Channel Types")
	threadLast    = 12
	typeComponent = 3  // of an interaction: a button was pressed
	deferUpdate   = 6  // the answer to it: seen, nothing changes
	flagContent   = 18 // of an application, with the next bit for small bots: it may read group messages
)

// deleted is a deletion event, of one message or of several.
type deleted struct {
	ID      string   `json:"id"`
	IDs     []string `json:"ids"`
	Channel string   `json:"channel_id"`
}

// pressed is a button event: User in a private chat, Member in a group.
type pressed struct {
	ID      string  `json:"id"`
	Token   string  `json:"token"`
	Type    int     `json:"type"`
	Guild   string  `json:"guild_id"`
	Channel string  `json:"channel_id"`
	User    *user   `json:"user"`
	Message message `json:"message"`
	Member  struct {
		Nick string `json:"nick"`
		User *user  `json:"user"`
	} `json:"member"`
	Data struct {
		ID string `json:"custom_id"`
	} `json:"data"`
}

// ready is the event that begins a session.
type ready struct {
	Session string `json:"session_id"`
	Gateway string `json:"resume_gateway_url"`
	User    user   `json:"user"`
}

// room is a channel of Discord: a private chat, a server channel or a thread.
type room struct {
	ID     string `json:"id"`
	Type   int    `json:"type"`
	Name   string `json:"name"`
	Parent string `json:"parent_id"` // of a thread: the channel that it belongs to
}

// thread reports whether the channel is a thread.
func (r room) thread() bool { return r.Type >= threadFirst && r.Type <= threadLast }
