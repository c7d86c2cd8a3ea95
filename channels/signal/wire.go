package signal

import "encoding/json"

// The fields that hob reads of signal-cli's messages (defined by its classes Json…). Others are ignored.

// received is the data of one event.
type received struct {
	Account   string    `json:"account"`
	Envelope  *envelope `json:"envelope"`
	Exception *struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"exception"` // the message could not be read
}

// envelope is one message with its sender.
type envelope struct {
	Number string `json:"sourceNumber"`
	UUID   string `json:"sourceUuid"`
	Name   string `json:"sourceName"`
	Data   *data  `json:"dataMessage"`
	Edit   *edit  `json:"editMessage"`
	Sync   *struct {
		Sent *sent `json:"sentMessage"`
	} `json:"syncMessage"` // an action of another device of the same account
}

// data is a message. Its timestamp, in milliseconds of the sender's clock, identifies it: Signal's quotes,
// edits and deletions refer to a message by author and timestamp.
type data struct {
	Timestamp   int64        `json:"timestamp"`
	Text        string       `json:"message"`
	Quote       *quote       `json:"quote"`
	Mentions    []mention    `json:"mentions"`
	Attachments []attachment `json:"attachments"`
	Sticker     *struct {
		Emoji string `json:"emoji"`
	} `json:"sticker"`
	Delete *struct {
		Timestamp int64 `json:"timestamp"`
	} `json:"remoteDelete"`
	Group *struct {
		ID   string `json:"groupId"`
		Name string `json:"groupName"`
	} `json:"groupInfo"`
	Reaction json.RawMessage `json:"reaction"`
	Story    json.RawMessage `json:"storyContext"`
}

// edit replaces the message with the timestamp Target.
type edit struct {
	Target int64 `json:"targetSentTimestamp"`
	Data   *data `json:"dataMessage"`
}

// sent is a message that another device of the account sent.
type sent struct {
	Number string `json:"destinationNumber"`
	UUID   string `json:"destinationUuid"`
	Edit   *edit  `json:"editMessage"`
	data
}

// quote refers to the answered message.
type quote struct {
	ID     int64  `json:"id"` // the timestamp
	Number string `json:"authorNumber"`
	UUID   string `json:"authorUuid"`
}

// mention is a mention in a text, which contains a placeholder; start and length count UTF-16 code units.
type mention struct {
	Name   string `json:"name"`
	Number string `json:"number"`
	UUID   string `json:"uuid"`
	Start  int    `json:"start"`
	Length int    `json:"length"`
}

// attachment is a received file.
type attachment struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
	MIME string `json:"contentType"`
	Size int64  `json:"size"`
}

// account is one entry of listAccounts or getUserStatus.
type account struct {
	Number string `json:"number"`
	ACI    string `json:"aci"`  // of listAccounts, in newer versions
	UUID   string `json:"uuid"` // of getUserStatus
}

// outcome is the result of a send.
type outcome struct {
	Timestamp int64    `json:"timestamp"`
	Results   []result `json:"results"`
}

// result is the result for one recipient.
type result struct {
	Type       string `json:"type"`
	Token      string `json:"token"`             // of a challenge
	RetryAfter int64  `json:"retryAfterSeconds"` // of a challenge, in seconds
}

// group is one entry of listGroups.
type group struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Member bool   `json:"isMember"`
}
