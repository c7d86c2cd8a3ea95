package matrix

import (
	"encoding/json"
	"strings"
)

// The fields that hob reads of the Client-Server API. Others are ignored.

// account is the answer of whoami.
type account struct {
	ID     string `json:"user_id"`
	Device string `json:"device_id"`
	name   string // display name
}

// synced is the answer of /sync.
type synced struct {
	Next    string `json:"next_batch"`
	Account events `json:"account_data"`
	Rooms   struct {
		Join   map[string]joined   `json:"join"`
		Invite map[string]invited  `json:"invite"`
		Leave  map[string]struct{} `json:"leave"`
	} `json:"rooms"`
}

// events is a list of events that are parsed later, so that a malformed one does no harm.
type events struct {
	Events []json.RawMessage `json:"events"`
}

// joined is a joined room in a sync ("Joined Room").
type joined struct {
	State    events   `json:"state"`
	Timeline timeline `json:"timeline"`
}

// timeline is the list of new events of a room ("Timeline").
type timeline struct {
	events
	Limited bool   `json:"limited"` // events are missing between the last sync and the first event
	Before  string `json:"prev_batch"`
}

// invited is an open invitation in a sync ("Invited Room").
type invited struct {
	State events `json:"invite_state"` // stripped state
}

// page is the answer of /messages.
type page struct {
	Chunk []json.RawMessage `json:"chunk"` // newest first
	End   string            `json:"end"`   // "" at the beginning of the visible history
}

// roomEvent is an event in a room.
type roomEvent struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	Sender   string          `json:"sender"`
	At       int64           `json:"origin_server_ts"` // milliseconds, by the clock of the sender's server
	Key      *string         `json:"state_key"`        // only of a state event
	Content  json.RawMessage `json:"content"`
	Redacts  string          `json:"redacts"` // up to room version 10; later in the content
	Unsigned struct {
		Before struct {
			Membership string `json:"membership"`
		} `json:"prev_content"`
	} `json:"unsigned"`
}

// member is the content of m.room.member.
type member struct {
	Membership string `json:"membership"`
	Name       string `json:"displayname"`
	Direct     bool   `json:"is_direct"`
}

// messageContent is the content of m.room.message and m.sticker.
type messageContent struct {
	Type     string          `json:"msgtype"`
	Body     string          `json:"body"`
	HTML     string          `json:"formatted_body"`
	Filename string          `json:"filename"` // of media; Body is then a caption if it differs
	URL      string          `json:"url"`
	Geo      string          `json:"geo_uri"`
	Info     info            `json:"info"`
	Voice    *struct{}       `json:"org.matrix.msc3245.voice"`
	Mentions *mentions       `json:"m.mentions"` // nil: the sender's client does not support it
	Relates  relation        `json:"m.relates_to"`
	New      *messageContent `json:"m.new_content"`
}

// info describes a file ("FileInfo").
type info struct {
	MIME string `json:"mimetype"`
	Size int64  `json:"size"`
}

// mentions lists mentioned people ("User and room mentions").
type mentions struct {
	People []string `json:"user_ids"`
}

// relation refers to another event ("Forming relationships between events").
type relation struct {
	Kind    string `json:"rel_type,omitempty"` // m.thread, m.replace
	ID      string `json:"event_id,omitempty"`
	Falls   bool   `json:"is_falling_back,omitempty"` // ReplyTo is only a fallback for clients without threads
	ReplyTo *reply `json:"m.in_reply_to,omitempty"`
}

// reply is the event that is replied to ("Rich replies").
type reply struct {
	ID string `json:"event_id"`
}

// read parses an event. It returns false if the event is malformed.
func read(raw json.RawMessage) (roomEvent, bool) {
	var e roomEvent
	err := json.Unmarshal(raw, &e)
	return e, err == nil && e.Type != "" && strings.HasPrefix(e.Sender, "@")
}

// membership returns the change of a member. ok is false for other events.
func (e roomEvent) membership() (who string, m member, ok bool) {
	if e.Type != "m.room.member" || e.Key == nil || json.Unmarshal(e.Content, &m) != nil {
		return "", m, false
	}
	return *e.Key, m, true
}
