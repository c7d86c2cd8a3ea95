//go:build linux

package crashtest_test

import (
	"fmt"
	"strings"

	"hob/channels/channelstest"
)

// messageActions are what can be done on a chat server beside writing, by the owner in his private chat. What is nil, its platform does not tell bots.
type messageActions struct {
	brings  func(caption string, f attachment) (extID string) // by somebody whom he knows
	edits   func(extID, text string) (editID string)
	deletes func(extID string)
	buttons func() []button // that hob has drawn
	press   func(message, data string) (extID string)
	taken   func() bool // hob has taken all that has happened
}

// attachment is a file that comes with a message. Names are unique.
type attachment struct {
	name    string
	content []byte
}

// button is one below a message of hob's: what it says to hob.
type button struct{ message, data string }

func telegramActions(f *channelstest.Telegram, sam, kim int64, said map[string]int64) messageActions {
	return messageActions{
		brings: func(caption string, e attachment) string {
			f.File(e.name, e.content)
			document := map[string]any{"file_id": e.name, "file_name": e.name, "mime_type": "text/plain", "file_size": len(e.content)}
			id := f.Write(map[string]any{"from": f.Person(kim, "Kim"), "caption": caption, "document": document})
			ext := fmt.Sprintf("7001/%d/%d", kim, id)
			said[ext] = id
			return ext
		},
		edits: func(ext, text string) string { return fmt.Sprintf("%s/%d", ext, f.Edit(said[ext], text)) },
		buttons: func() (list []button) {
			for _, s := range f.Sent() {
				for _, row := range s.Buttons {
					for _, b := range row {
						list = append(list, button{fmt.Sprint(s.ID), b.Data})
					}
				}
			}
			return list
		},
		press: func(message, data string) string { return "7001/callback/" + f.Press(sam, whole(message), data) },
		taken: func() bool { return f.Pending() == 0 },
	}
}

func matrixActions(f *channelstest.Matrix, rooms, person map[speaker]string) messageActions {
	room, sam := rooms[owner], person[owner]
	event := func(ext string) string { return strings.TrimPrefix(ext, room+"/") }
	return messageActions{
		brings: func(caption string, e attachment) string {
			f.File(e.name, e.content)
			return rooms[known] + "/" + f.Write(rooms[known], person[known], map[string]any{
				"msgtype": "m.file", "body": caption, "filename": e.name, "url": "mxc://hob.test/" + e.name, "info": map[string]any{"size": len(e.content), "mimetype": "text/plain"},
			})
		},
		edits: func(ext, text string) string {
			return room + "/" + f.Write(room, sam, map[string]any{
				"msgtype": "m.text", "body": "* " + text, "m.new_content": map[string]any{"msgtype": "m.text", "body": text},
				"m.relates_to": map[string]any{"rel_type": "m.replace", "event_id": event(ext)},
			})
		},
		deletes: func(ext string) { f.Redact(room, sam, event(ext)) },
		taken:   f.Caught,
	}
}
