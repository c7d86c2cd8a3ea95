package telegram

import "encoding/json"

// The fields that hob reads of the Bot API's types ("Available types"). Others are ignored.

// update is one event ("Update").
type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Edited   *message  `json:"edited_message"`
	Callback *callback `json:"callback_query"`
}

// message is a message, including service messages ("Message").
type message struct {
	ID       int64           `json:"message_id"` // unique within the chat
	Thread   int64           `json:"message_thread_id"`
	Topic    bool            `json:"is_topic_message"` // Thread is a forum topic; otherwise it is only a chain of replies
	Chat     chat            `json:"chat"`
	Date     int64           `json:"date"` // Unix seconds
	Reply    *message        `json:"reply_to_message"`
	Album    string          `json:"media_group_id"`
	Text     string          `json:"text"`
	Entities []entity        `json:"entities"`
	Caption  string          `json:"caption"`
	Marks    []entity        `json:"caption_entities"`
	Moved    int64           `json:"migrate_to_chat_id"`
	Opening  json.RawMessage `json:"forum_topic_created"` // the service message that opens a topic
	author
	media
}

// author tells who wrote a message, and whether the text is their own.
type author struct {
	From       *user           `json:"from"`
	SenderChat *chat           `json:"sender_chat"`          // an anonymous administrator's group, or a channel, in whose name it was written
	Automatic  bool            `json:"is_automatic_forward"` // a post of the channel that is linked to the group
	Via        *user           `json:"via_bot"`
	Origin     json.RawMessage `json:"forward_origin"`
	Forwarded  int64           `json:"forward_date"` // before Bot API 7.0
}

// media holds the content of a message other than text.
type media struct {
	Photo     []file    `json:"photo"` // the same picture in several sizes
	Document  *file     `json:"document"`
	Audio     *file     `json:"audio"`
	Voice     *file     `json:"voice"`
	Video     *file     `json:"video"`
	VideoNote *file     `json:"video_note"`
	Animation *file     `json:"animation"` // Document then holds the same file
	Sticker   *sticker  `json:"sticker"`
	Location  *location `json:"location"`
	Venue     *venue    `json:"venue"`
	Contact   *contact  `json:"contact"`
	plays
}

// plays are the kinds of content other than text and files.
type plays struct {
	Poll *struct {
		Question string `json:"question"`
	} `json:"poll"`
	Dice *struct {
		Emoji string `json:"emoji"`
		Value int    `json:"value"`
	} `json:"dice"`
	Story     *struct{}  `json:"story"` // empty: a bot cannot see the story
	Checklist *checklist `json:"checklist"`
}

// checklist is a list of tasks ("Checklist").
type checklist struct {
	Title string `json:"title"`
	Tasks []struct {
		Text string `json:"text"`
	} `json:"tasks"`
}

// user is a user or a bot ("User").
type user struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
	ReadsAll bool   `json:"can_read_all_group_messages"` // set by getMe only
}

// chat is a private chat, a group or a channel ("Chat").
type chat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"` // private, group, supergroup, channel
	Title string `json:"title"`
}

// entity is a marked part of a text; offset and length count UTF-16 code units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"` // of a text_mention
}

// file combines the fields of PhotoSize, Audio, Document, Video, VideoNote, Voice and Animation.
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

// sticker is a sticker; only its emoji is read.
type sticker struct {
	Emoji string `json:"emoji"`
}

// location is a position in degrees ("Location").
type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// venue is a place with a name ("Venue").
type venue struct {
	Title   string `json:"title"`
	Address string `json:"address"`
}

// contact is a shared phone contact ("Contact").
type contact struct {
	Phone string `json:"phone_number"`
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

// callback is the press of a button ("CallbackQuery").
type callback struct {
	ID      string   `json:"id"`
	From    *user    `json:"from"`
	Message *message `json:"message"` // the message with the button
	Data    string   `json:"data"`
}

// webhook is the result of getWebhookInfo.
type webhook struct {
	URL string `json:"url"` // "" for none
}
