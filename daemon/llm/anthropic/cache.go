package anthropic

// The provider caches what stands before a breakpoint (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). A request
// reads the longest beginning that an earlier request has written at one of its own breakpoints, or up to 20 blocks before one. A turn with
// many calls at once adds more than 20 blocks, so the end of the request before has a breakpoint too: the beginning that was written there is
// always found. With those after the tools and after the system text these are the four that the protocol allows.

// breakpoint marks a block: what ends with it is cached for five minutes, and again with each use.
type breakpoint struct {
	Type string `json:"type"`
}

// ephemeral returns the one kind of breakpoint.
func ephemeral() *breakpoint { return &breakpoint{Type: "ephemeral"} }

// mark sets the breakpoints of a request.
func (w *wireRequest) mark() {
	if n := len(w.Tools); n > 0 {
		w.Tools[n-1].Cache = ephemeral()
	}
	if n := len(w.System); n > 0 {
		w.System[n-1].Cache = ephemeral()
	}
	// The blocks are those of the transcript, which a paused answer encodes again with other ends.
	for _, msg := range w.Messages {
		for _, part := range msg.Content {
			if b, ok := part.(*block); ok {
				b.Cache = nil
			}
		}
	}
	last := len(w.Messages) - 1
	w.end(last)
	// The request before ended where the last answer begins.
	for i := last; i > 0; i-- {
		if w.Messages[i].Role == "assistant" {
			w.end(i - 1)
			return
		}
	}
}

// end sets a breakpoint at the end of a message. Thinking cannot have one, so it goes to the last block that can.
func (w *wireRequest) end(i int) {
	if i < 0 {
		return
	}
	content := w.Messages[i].Content
	for j := len(content) - 1; j >= 0; j-- {
		if b, ok := content[j].(*block); ok {
			b.Cache = ephemeral()
			return
		}
	}
}
