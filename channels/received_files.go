package channels

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
)

// Limits for the files of one message.
const (
	MaxFile      = 20 << 20                                                 // bytes of one file; a larger one is named and not stored
	maxFiles     = 10                                                       // files of one message; further ones are named
	maxAll       = 50 << 20                                                 // bytes of all files of a message, because they are in memory together
	tooLarge     = "it has more than 20 MB"                                 // of MaxFile
	tooMuch      = "the files of the message have more than 50 MB together" // of maxAll
	maxReason    = 200                                                      // characters of a reason in the text
	fetchTimeout = 90 * time.Second                                         // for all files of a message; later messages of the channel wait that long
)

// Part describes a received file. It gets a name that is not in taken, and a type derived from the content.
func Part(name, claim string, data []byte, taken map[string]bool) event.Part {
	p := event.Part{Kind: event.File, Name: fsguard.UniqueName(fsguard.ReceivedName(name), taken), MIME: fsguard.FileType(name, claim, data), Size: int64(len(data))}
	if fsguard.IsPicture(p.MIME) {
		p.Kind = event.Image
	}
	return p
}

// fetch downloads the files of a message before it is committed. A file that is too large or cannot be
// downloaded is named in the text, with the reason. If one of them is a voice note, the whole message no
// longer counts as typed, because the transcript will become part of it.
func fetch(ctx context.Context, in event.In, files []Attachment) (event.In, [][]byte) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var contents [][]byte
	taken, room := map[string]bool{}, maxAll
	for i, f := range files {
		var data []byte
		why := fmt.Sprintf("only %d files of a message are kept", maxFiles)
		if i < maxFiles {
			data, why = download(ctx, f, room)
			room -= len(data)
		}
		if why != "" {
			in.Parts = append(in.Parts, event.Say(fmt.Sprintf("[attachment %s was not kept: %s]", fsguard.ReceivedName(f.Name), why))...)
			continue
		}
		p := Part(f.Name, f.MIME, data, taken)
		if f.Voice {
			p.Kind, p.Voice, p.Seconds = event.File, true, int(f.Length.Round(time.Second)/time.Second)
			in.Typed = false
		}
		contents, in.Parts = append(contents, data), append(in.Parts, p)
	}
	return in, contents
}

// download downloads a file of at most room bytes. If there is no content, why gives the reason.
func download(ctx context.Context, f Attachment, room int) (data []byte, why string) {
	most, over := MaxFile, tooLarge
	if room < most {
		most, over = room, tooMuch
	}
	if f.Size > int64(most) {
		return nil, over
	}
	body, err := f.Open(ctx)
	if err != nil {
		return nil, oneLine(err)
	}
	defer func() { _ = body.Close() }() // everything was read, or the rest is not wanted
	data, err = io.ReadAll(io.LimitReader(body, int64(most)+1))
	switch {
	case err != nil:
		return nil, oneLine(err)
	case len(data) > most:
		return nil, over
	}
	return data, ""
}

// oneLine returns the text of an error on one line, cut to maxReason characters.
func oneLine(err error) string {
	line := []rune(strings.Join(strings.Fields(err.Error()), " "))
	return string(line[:min(len(line), maxReason)])
}
