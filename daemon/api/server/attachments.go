package server

import (
	"encoding/base64"
	"net/http"

	"hob/daemon/api"
	"hob/daemon/event"
)

// maxAttached is the longest body, in bytes, of a message with attachments: 20 MB of them in base64, plus the limit of any other
// request. The daemon checks each attachment against its own limits when it accepts the message.
const maxAttached = (20<<20+2)/3*4 + maxBody

// bodyLimit is the longest body that a request may have, in bytes. Only messages have attachments.
func bodyLimit(r *http.Request) int64 {
	if r.Method == http.MethodPost && (r.URL.Path == "/v1/messages" || r.URL.Path == "/v1/send" || r.URL.Path == "/v1/chat/completions") {
		return maxAttached
	}
	return maxBody
}

// sent is an attachment as JSON: its bytes are in standard base64 (RFC 4648, section 4).
// It is decoded in two steps, so that the error can name the attachment.
type sent struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
	Data string `json:"data"`
}

// attached decodes the attachments of a request.
func attached(list []sent) ([]api.Attachment, error) {
	files := make([]api.Attachment, 0, len(list))
	for i, s := range list {
		data, err := base64.StdEncoding.DecodeString(s.Data)
		if err != nil {
			return nil, event.NewFault(event.Invalid, `"data" holds the file's bytes in standard base64, padded`, "attachment %d is not understood: %v", i+1, err)
		}
		files = append(files, api.Attachment{Name: s.Name, MIME: s.MIME, Data: data})
	}
	return files, nil
}

// maxSent is how many files go with one message.
const maxSent = 10

// fit checks the files of a message for an address against the limits.
func fit(files []api.Attachment) error {
	if len(files) > maxSent {
		return event.NewFault(event.TooLarge, "send the rest with another message", "a message takes at most %d attachments, this one has %d", maxSent, len(files))
	}
	for i, f := range files {
		if len(f.Data) == 0 {
			return event.NewFault(event.Invalid, "attach a file that holds something", "attachment %d (%s) is empty", i+1, f.Name)
		}
	}
	return nil
}
