package console

import (
	"fmt"

	"hob/daemon/api/client"
)

// attachWord is the first word of a line that names a file for the next message. The client handles it and the daemon never sees it, because the
// client reads the file.
const attachWord = "/attach"

// helpHere lists the commands of the terminal, which the daemon does not know.
const helpHere = "in this terminal also: /attach FILE sends a file with the next message; /sessions shows the other conversations; /exit leaves"

// files are the files attached since the last message was posted.
type files struct {
	paths []string
	read  []client.Attachment
}

// take returns the attached files for the message being posted, and forgets them.
func (f *files) take() []client.Attachment {
	list := f.read
	*f = files{}
	return list
}

// attach reads a file for the next message, or reports why it cannot be sent. It reads every attached file again, so that they all have the
// same age.
func (k *talk) attach(path string) {
	if path == "" {
		k.conversation.out.Note("which file? /attach FILE sends it with your next message")
		return
	}
	paths := append(k.files.paths, path)
	list, err := client.Attach(paths...)
	if err != nil {
		// A file that cannot be sent changes nothing: the files attached before it stay.
		text, hint, _ := client.Explain(err)
		k.conversation.out.Note(text)
		k.conversation.out.Note(hint)
		return
	}
	k.files = files{paths: paths, read: list}
	last := list[len(list)-1]
	k.conversation.out.Note(fmt.Sprintf("%s (%s) goes with your next message", last.Name, Size(int64(len(last.Data)))))
}
