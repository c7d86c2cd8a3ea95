package channels

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/filename"
)

// The limits of what comes with a message.
const (
	MaxFile  = 20 << 20 // bytes of one file; a larger one is named and not kept
	maxFiles = 10
	maxAll   = 50 << 20                                                 // bytes of all files of a message, which are in memory together
	tooLarge = "it has more than 20 MB"                                 // of MaxFile
	tooMuch  = "the files of the message have more than 50 MB together" // of maxAll
	maxWhy   = 200                                                      // characters of a reason
	maxWait  = 90 * time.Second                                         // for all files of a message: what comes behind it waits as long
)

// Part describes a file that came with a message, under a name of its own among those that are taken.
func Part(name, claim string, data []byte, taken map[string]bool) event.Part {
	p := event.Part{Kind: event.File, Name: filename.Own(filename.Received(name), taken), MIME: filename.Type(name, claim, data), Size: int64(len(data))}
	if filename.Picture(p.MIME) {
		p.Kind = event.Image
	}
	return p
}

// fetch reads the files of a message. One that is too large, or cannot be had, is named with the reason. Where there is a voice note among
// them, nothing of the message counts as typed: what is said in it will stand beside the rest.
func fetch(ctx context.Context, in event.In, files []Attachment) (event.In, [][]byte) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	var contents [][]byte
	taken, room := map[string]bool{}, maxAll
	for i, f := range files {
		var data []byte
		why := fmt.Sprintf("only %d files of a message are kept", maxFiles)
		if i < maxFiles {
			data, why = content(ctx, f, room)
			room -= len(data)
		}
		if why != "" {
			in.Parts = append(in.Parts, event.Say(fmt.Sprintf("[attachment %s was not kept: %s]", filename.Received(f.Name), why))...)
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

// content reads a file that has at most so many bytes as there is room for. why says why there is none of it.
func content(ctx context.Context, f Attachment, room int) (data []byte, why string) {
	most, over := MaxFile, tooLarge
	if room < most {
		most, over = room, tooMuch
	}
	if f.Size > int64(most) {
		return nil, over
	}
	body, err := f.Open(ctx)
	if err != nil {
		return nil, inShort(err)
	}
	defer func() { _ = body.Close() }() // read to its end, or not wanted any more
	data, err = io.ReadAll(io.LimitReader(body, int64(most)+1))
	switch {
	case err != nil:
		return nil, inShort(err)
	case len(data) > most:
		return nil, over
	}
	return data, ""
}

// inShort is an error on one line.
func inShort(err error) string {
	line := []rune(strings.Join(strings.Fields(err.Error()), " "))
	return string(line[:min(len(line), maxWhy)])
}
