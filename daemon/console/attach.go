package console

import (
	"fmt"

	"hob/daemon/api/client"
)

// attachWord begins a line that names a file to send with the next message. The daemon does not know it: it is the client that reads.
const attachWord = "/attach "

// files are what was attached since the last message.
type files struct {
	paths []string
	read  []client.Attachment
}

// take hands the files out, for the message that they go with.
func (f *files) take() []client.Attachment {
	list := f.read
	*f = files{}
	return list
}

// attach reads a file for the next message, or says why it cannot be sent. All are read again, so that they are as new as the last.
func (k *talk) attach(path string) {
	paths := append(k.files.paths, path)
	list, err := client.Attach(paths...)
	if err != nil {
		text, hint, _ := client.Explain(err)
		k.conversation.out.Note(text)
		k.conversation.out.Note(hint)
		return
	}
	k.files = files{paths: paths, read: list}
	last := list[len(list)-1]
	k.conversation.out.Note(fmt.Sprintf("%s (%s) goes with your next message", last.Name, Size(int64(len(last.Data)))))
}
