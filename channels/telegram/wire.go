package telegram

import "encoding/json"

// What hob reads of the Bot API's types ("Available types"); all else is passed over.

type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Edited   *message  `json:"edited_message"`
	Callback *callback `json:"callback_query"`
}

type message struct {
	ID       int64           `json:"message_id"` // unique within the chat
	Thread   int64           `json:"message_thread_id"`
	Topic    bool            `json:"is_topic_message"` // Thread is a topic of a forum; else it is only a line of replies
	Chat     chat            `json:"chat"`
	Date     int64           `json:"date"` // Unix seconds
	Reply    *message        `json:"reply_to_message"`
	Album    string          `json:"media_group_id"`
	Text     string          `json:"text"`
	Entities []entity        `json:"entities"`
	Caption  string          `json:"caption"`
	Marks    []entity        `json:"caption_entities"`
	Moved    int64           `json:"migrate_to_chat_id"`
	Opening  json.RawMessage `json:"forum_topic_created"` // the service message that a topic begins with
	author
	media
}

// author is who wrote a message, and whose words they are.
type author struct {
	From       *user           `json:"from"`
	SenderChat *chat           `json:"sender_chat"`          // an anonymous administrator, or a channel, in whose name it was written
	Automatic  bool            `json:"is_automatic_forward"` // a post of the channel that a group belongs to
	Via        *user           `json:"via_bot"`
	Origin     json.RawMessage `json:"forward_origin"`
	Forwarded  int64           `json:"forward_date"` // before Bot API 7.0
}

type media struct {
	Photo     []file    `json:"photo"` // the same picture in several sizes
	Document  *file     `json:"document"`
	Audio     *file     `json:"audio"`
	Voice     *file     `json:"voice"`
	Video     *file     `json:"video"`
	VideoNote *file     `json:"video_note"`
	Animation *file     `json:"animation"` // Document is then the same file
	Sticker   *sticker  `json:"sticker"`
	Location  *location `json:"location"`
	Venue     *venue    `json:"venue"`
	Contact   *contact  `json:"contact"`
	plays
}

// plays are what a chat offers beside messages.
type plays struct {
	Poll *struct {
		Question string `json:"question"`
	} `json:"poll"`
	Dice *struct {
		Emoji string `json:"emoji"`
		Value int    `json:"value"`
	} `json:"dice"`
	Story     *struct{}  `json:"story"` // which one is of no use: a bot cannot look at it
	Checklist *checklist `json:"checklist"`
}

type checklist struct {
	Title string `json:"title"`
	Tasks []struct {
		Text string `json:"text"`
	} `json:"tasks"`
}

type user struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
	ReadsAll bool   `json:"can_read_all_group_messages"` // only getMe
}

type chat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"` // private, group, supergroup, channel
	Title string `json:"title"`
}

// entity is a stretch of a text; offset and length count UTF-16 units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"` // of a text_mention
}

type file struct {
	ID     string `json:"file_id"`
	Unique string `json:"file_unique_id"`
	Name   string `json:"file_name"`
	MIME   string `json:"mime_type"`
	Size   int64  `json:"file_size"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Length int64  `json:"duration"` // of a recording, in seconds
}

type sticker struct {
	Emoji string `json:"emoji"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type venue struct {
	Title   string `json:"title"`
	Address string `json:"address"`
}

type contact struct {
	Phone string `json:"phone_number"`
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

type callback struct {
	ID      string   `json:"id"`
	From    *user    `json:"from"`
	Message *message `json:"message"` // where the button is
	Data    string   `json:"data"`
}

// webhook is what getWebhookInfo says.
type webhook struct {
	URL string `json:"url"` // "" for none
}
