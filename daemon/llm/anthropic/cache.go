package anthropic

// The provider caches everything before a breakpoint (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). A request
// reads the longest beginning that was cached at one of its own breakpoints, or up to 20 blocks before one. A turn with many calls at once
// adds more than 20 blocks. Therefore the end of the previous request has a breakpoint too, so that the beginning that was cached there is
// always found. Together with the breakpoints after the tools and after the system text these are four, the most that the protocol allows.

// breakpoint marks a block. The request up to the end of the block is cached for five minutes, and for five more with each use.
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
	// These are the blocks of the transcript. A paused answer encodes them again with other ends.
	for _, msg := range w.Messages {
		for _, part := range msg.Content {
			if b, ok := part.(*block); ok {
				b.Cache = nil
			}
		}
	}
	last := len(w.Messages) - 1
	w.end(last)
	// The previous request ended where the last answer begins.
	for i := last; i > 0; i-- {
		if w.Messages[i].Role == "assistant" {
			w.end(i - 1)
			return
		}
	}
}

// end sets a breakpoint at the end of a message. A block of thinking cannot have one, so it is set at the last block that can.
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
